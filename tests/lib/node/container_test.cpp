// SPDX-License-Identifier: Apache-2.0
// Facts that a container hides of its node.
#include "lib/node/container.hpp"

#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace muster {
namespace {

// Everything was observed: two GPUs, two HCAs.
Snapshot node() {
  Snapshot snapshot;
  for_each_section(snapshot, [](Probe /*probe*/, auto& section) {
    section.status = Status::ok;
    section.reason.clear();
  });
  for (const auto* address : {"0001:00:00.0", "0002:00:00.0"}) {
    snapshot.pci->devices.push_back({.address = address, .kind = PciKind::gpu, .driver = "nvidia"});
    snapshot.nvml->gpus.push_back({.address = address, .processes = std::vector<GpuProcess>{}});
  }
  for (const auto* address : {"0003:00:00.0", "0004:00:00.0"}) {
    snapshot.pci->devices.push_back(
        {.address = address, .kind = PciKind::hca, .driver = "mlx5_core"});
    snapshot.infiniband->hcas.push_back({.name = address});
  }
  Kernel& kernel = snapshot.kernel.facts;
  kernel.limits = {.process = "slurmd (7)",
                   .memlock_bytes = std::string("unlimited"),
                   .open_files = std::string("unlimited")};
  kernel.sysctl["net.core.rmem_max"] = std::string("1");
  kernel.sysctl["kernel.shmmax"] = std::string("1");
  kernel.sysctl["vm.swappiness"] = std::string("1");
  snapshot.processes->zombies = std::vector<Task>{};
  snapshot.processes->load1 = 1.0;
  return snapshot;
}

Snapshot seen_with_own(std::vector<std::string> namespaces, Snapshot snapshot = node()) {
  snapshot.identity->container =
      Container{.recognised_by = {"/.dockerenv"}, .namespaces = std::move(namespaces)};
  hide_container(snapshot);
  return snapshot;
}

std::vector<std::string> hidden(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (section.status == Status::error && section.reason == kInContainer) {
      names.emplace_back(to_string(probe));
    }
  });
  return names;
}

TEST(HideContainerTest, LeavesANodeAlone) {
  auto snapshot = node();
  hide_container(snapshot);
  EXPECT_EQ(snapshot, node());
}

TEST(HideContainerTest, MountsServicesAndFilesAreOfTheMountNamespace) {
  EXPECT_THAT(hidden(seen_with_own({"mnt"})),
              ElementsAre("mounts", "services", "verbs", "environment"));
}

TEST(HideContainerTest, AKernelLogThatWasPassedOnIsTheNodes) {
  auto snapshot = node();
  snapshot.kernel_log = {.status = Status::absent, .reason = "open /dev/kmsg: No such file"};
  EXPECT_EQ(seen_with_own({"mnt"}, snapshot).kernel_log.reason, kInContainer);
}

TEST(HideContainerTest, InterfacesAreOfTheNetworkNamespace) {
  const auto snapshot = seen_with_own({"net"});
  EXPECT_THAT(hidden(snapshot), ElementsAre("network"));
  EXPECT_TRUE(snapshot.kernel->sysctl.at("net.core.rmem_max").is_unreadable());
  EXPECT_TRUE(snapshot.kernel->sysctl.at("kernel.shmmax"));
}

TEST(HideContainerTest, SharedMemoryIsOfTheIpcNamespace) {
  const auto snapshot = seen_with_own({"ipc"});
  EXPECT_TRUE(snapshot.kernel->sysctl.at("kernel.shmmax").is_unreadable());
  EXPECT_TRUE(snapshot.kernel->sysctl.at("vm.swappiness"));
}

TEST(HideContainerTest, TasksAndLimitsAreOfThePidNamespace) {
  const auto snapshot = seen_with_own({"pid"});
  EXPECT_THAT(hidden(snapshot), IsEmpty());
  EXPECT_TRUE(snapshot.processes->zombies.is_unreadable());
  EXPECT_TRUE(snapshot.processes->load1);  // of the whole kernel
  EXPECT_TRUE(snapshot.kernel->limits.memlock_bytes.is_unreadable());
  EXPECT_TRUE(snapshot.nvml->gpus.front().processes.is_unreadable());
}

TEST(HideContainerTest, LimitsOfTheContainersOwnProcessAreNotTheNodes) {
  auto snapshot = node();
  EXPECT_TRUE(seen_with_own({"mnt"}, snapshot).kernel->limits.memlock_bytes);
  snapshot.kernel->limits.process = kOwnLimits;
  EXPECT_TRUE(seen_with_own({"mnt"}, snapshot).kernel->limits.memlock_bytes.is_unreadable());
}

TEST(HideContainerTest, DevicesThatWereNotPassedOnAreNotMissing) {
  auto snapshot = node();
  snapshot.nvml->gpus.pop_back();
  snapshot.infiniband->hcas.pop_back();
  EXPECT_THAT(hidden(seen_with_own({"mnt"}, snapshot)),
              ElementsAre("mounts", "services", "infiniband", "verbs", "environment", "nvml"));
}

TEST(HideContainerTest, SectionsThatNoCheckNeedsStayUnobserved) {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{});
  EXPECT_THAT(hidden(seen_with_own({"mnt", "net", "pid"}, snapshot)), IsEmpty());
}

}  // namespace
}  // namespace muster
