// SPDX-License-Identifier: Apache-2.0
// Damages each file that the probes read, in every way: its fact is then unknown, and no probe
// crashes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

using std::chrono_literals::operator""s;  // NOLINT(misc-unused-using-decls)

struct File {
  std::string path;
  std::function<bool(const Root&)> known;  // whether the file's fact is known
  bool is_text = false;                    // any text is valid
};

void PrintTo(const File& file, std::ostream* out) { *out << file.path; }

constexpr std::string_view kGpu = "sys/bus/pci/devices/0001:01:00.0";
constexpr std::string_view kPort = "sys/class/infiniband/mlx5_ib0/ports/1";

void write_kernel(const TempDir& tree) {
  tree.write("proc/sys/kernel/osrelease", "6.1.0\n");
  tree.write("proc/cmdline", "quiet\n");
  tree.write("proc/sys/vm/swappiness", "60\n");
  tree.write("proc/7/comm", "slurmd\n");
  tree.write("proc/7/limits",
             "Max open files            1024                 4096                 files     \n"
             "Max locked memory         unlimited            unlimited            bytes     \n");
  tree.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  tree.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  tree.write("sys/devices/system/edac/mc/mc0/ce_count", "0\n");
  tree.write("sys/devices/system/edac/mc/mc0/ue_count", "0\n");
  tree.write("dev/kmsg", "3,1,2,-;EDAC MC0: 1 CE\n");
}

void write_devices(const TempDir& tree) {
  write_files(tree, kGpu,
              {{"class", "0x030200\n"},
               {"vendor", "0x10de\n"},
               {"device", "0x2330\n"},
               {"current_link_speed", "32.0 GT/s PCIe\n"},
               {"max_link_speed", "32.0 GT/s PCIe\n"},
               {"current_link_width", "16\n"},
               {"max_link_width", "16\n"},
               {"numa_node", "0\n"},
               {"local_cpulist", "0-3\n"},
               {"aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR 0\n"},
               {"aer_dev_nonfatal", "DLP 0\nTOTAL_ERR_NONFATAL 0\n"},
               {"aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n"}});
  write_files(tree, kPort,
              {{"link_layer", "InfiniBand\n"},
               {"state", "4: ACTIVE\n"},
               {"phys_state", "5: LinkUp\n"},
               {"rate", "400 Gb/sec (4X NDR)\n"},
               {"lid", "0x1a0\n"},
               {"sm_lid", "0x1\n"},
               {"pkeys/0", "0x8015\n"},
               {"pkeys/1", "0x7fff\n"},
               {"gids/0", "fe80:0000:0000:0000:0015:5dff:fe33:ff00\n"}});
}

Identity identity(const Root& root) { return *probe_identity(root); }

Cpu cpu(const Root& root) { return *probe_cpu(root); }

Memory memory(const Root& root) { return *probe_memory(root); }

Kernel kernel(const Root& root) { return *probe_kernel(root, {"vm.swappiness"}); }

Nvme nvme(const Root& root) {
  const auto disks = probe_disks(root);
  return disks->nvme.empty() ? Nvme{} : disks->nvme.front();
}

Raid raid(const Root& root) { return probe_disks(root)->raid.at(0); }

Processes processes(const Root& root) { return *probe_processes(root); }

Interface eth0(const Root& root) { return probe_network(root)->interfaces.at(0); }

// The device, whose facts are default if it cannot be identified.
PciDevice gpu(const Root& root) {
  const auto pci = probe_pci(root);
  return pci.ok() && pci->devices.size() == 1 ? pci->devices.front() : PciDevice{};
}

IbPort port(const Root& root) { return probe_infiniband(root)->hcas.at(0).ports->at(0); }

bool slurmd_runs(const Root& root) {
  const auto units = probe_services(root)->active.value_or({});
  return std::ranges::count(units, "slurmd.service") > 0;
}

// A file of the GPU, or of the InfiniBand port.
template <class Known>
File of_gpu(std::string_view name, Known known) {
  return {fmt::format("{}/{}", kGpu, name), [known](const Root& r) { return known(gpu(r)); }};
}

template <class Known>
File of_port(std::string_view name, Known known, bool is_text = false) {
  return {fmt::format("{}/{}", kPort, name), [known](const Root& r) { return known(port(r)); },
          is_text};
}

std::vector<File> host_files() {
  return {
      {"proc/sys/kernel/hostname", [](auto& r) { return !identity(r).hostname.empty(); }, true},
      {"proc/sys/kernel/random/boot_id", [](auto& r) { return identity(r).boot_id.known(); }, true},
      {"proc/uptime", [](auto& r) { return identity(r).uptime_s.known(); }},
      {"sys/class/dmi/id/sys_vendor", [](auto& r) { return identity(r).dmi_vendor.known(); }, true},
      {"sys/class/dmi/id/product_name", [](auto& r) { return identity(r).dmi_product.known(); },
       true},
      {"sys/class/dmi/id/chassis_asset_tag",
       [](auto& r) { return identity(r).chassis_asset_tag.known(); }, true},
      {"var/lib/hyperv/.kvp_pool_3", [](auto& r) { return identity(r).physical_host.known(); }},
      {"sys/devices/system/cpu/online", [](auto& r) { return cpu(r).threads.known(); }},
      {"sys/devices/system/cpu/present", [](auto& r) { return cpu(r).offline.known(); }},
      {"sys/devices/system/cpu/cpu3/topology/physical_package_id",
       [](auto& r) { return cpu(r).sockets.known(); }},
      {"sys/devices/system/cpu/cpu3/topology/core_id",
       [](auto& r) { return cpu(r).cores.known(); }},
      {"proc/cpuinfo", [](auto& r) { return cpu(r).model.known(); }},
      {"sys/devices/system/node/online", [](auto& r) { return cpu(r).numa_nodes.known(); }},
      {"sys/devices/system/node/node1/cpulist",
       [](auto& r) { return cpu(r).numa_nodes->at(1).cpus.known(); }},
      {"sys/devices/system/node/node1/meminfo",
       [](auto& r) { return cpu(r).numa_nodes->at(1).memory_bytes.known(); }},
      {"proc/meminfo", [](auto& r) { return memory(r).total_bytes.known(); }},
      {"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
       [](auto& r) { return memory(r).huge_pages->at(0).total.known(); }},
      {"sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
       [](auto& r) { return memory(r).huge_pages->at(0).free.known(); }},
      {"proc/mounts", [](auto& r) { return probe_mounts(r, 20s).ok(); }},
      {"sys/class/nvme/nvme0/model", [](auto& r) { return nvme(r).model.known(); }, true},
      {"sys/class/nvme/nvme0/state", [](auto& r) { return nvme(r).state.known(); }, true},
      {"sys/class/nvme/nvme0/nvme0n1/size", [](auto& r) { return nvme(r).size_bytes.known(); }},
      {"sys/class/nvme/nvme0/nvme0n1/ro", [](auto& r) { return nvme(r).read_only.known(); }},
      {"sys/block/md0/md/level", [](auto& r) { return raid(r).level.known(); }, true},
      {"sys/block/md0/md/array_state", [](auto& r) { return raid(r).state.known(); }, true},
      {"sys/block/md0/md/raid_disks", [](auto& r) { return raid(r).disks.known(); }},
      {"sys/block/md0/md/degraded", [](auto& r) { return raid(r).degraded.known(); }},
      {"proc/loadavg", [](auto& r) { return processes(r).load1.known(); }},
      {"proc/42/stat", [](auto& r) { return !processes(r).uninterruptible.value_or({}).empty(); }},
      {"sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs", slurmd_runs},
      {"sys/class/net/eth0/type", [](auto& r) { return eth0(r).type.known(); }},
      {"sys/class/net/eth0/operstate", [](auto& r) { return eth0(r).operstate.known(); }, true},
      {"sys/class/net/eth0/carrier", [](auto& r) { return eth0(r).carrier.known(); }},
      {"sys/class/net/eth0/speed", [](auto& r) { return eth0(r).speed_mbps.known(); }},
      {"sys/class/net/eth0/mtu", [](auto& r) { return eth0(r).mtu.known(); }},
      {"sys/class/net/eth0/carrier_down_count",
       [](auto& r) { return eth0(r).carrier_down_count.known(); }}};
}

std::vector<File> kernel_files() {
  return {{"proc/sys/kernel/osrelease", [](auto& r) { return kernel(r).release.known(); }, true},
          {"proc/cmdline", [](auto& r) { return kernel(r).command_line.known(); }, true},
          {"proc/sys/vm/swappiness",
           [](auto& r) { return kernel(r).sysctl.at("vm.swappiness").known(); }, true},
          {"proc/7/comm", [](auto& r) { return kernel(r).limits.memlock_bytes.known(); }},
          {"proc/7/limits", [](auto& r) { return kernel(r).limits.open_files.known(); }},
          {"sys/kernel/mm/transparent_hugepage/enabled",
           [](auto& r) { return kernel(r).transparent_hugepage.known(); }},
          {"sys/devices/system/clocksource/clocksource0/current_clocksource",
           [](auto& r) { return kernel(r).clocksource.known(); }, true},
          {"sys/devices/system/edac/mc/mc0/ce_count",
           [](auto& r) { return kernel(r).edac->at(0).corrected.known(); }},
          {"sys/devices/system/edac/mc/mc0/ue_count",
           [](auto& r) { return kernel(r).edac->at(0).uncorrected.known(); }},
          {"dev/kmsg", [](auto& r) { return probe_kernel_log(r).ok(); }}};
}

std::vector<File> device_files() {
  const auto identified = [](const PciDevice& d) { return !d.address.empty(); };
  const auto aer = [](const PciDevice& d) { return d.aer.known(); };
  return {of_gpu("class", identified),
          of_gpu("vendor", identified),
          of_gpu("device", identified),
          of_gpu("current_link_speed", [](const PciDevice& d) { return d.link_speed_gts.known(); }),
          of_gpu("max_link_speed", [](const PciDevice& d) { return d.link_speed_max_gts.known(); }),
          of_gpu("current_link_width", [](const PciDevice& d) { return d.link_width.known(); }),
          of_gpu("max_link_width", [](const PciDevice& d) { return d.link_width_max.known(); }),
          of_gpu("numa_node", [](const PciDevice& d) { return d.numa_node.known(); }),
          of_gpu("local_cpulist", [](const PciDevice& d) { return d.local_cpus.known(); }),
          of_gpu("aer_dev_correctable", aer),
          of_gpu("aer_dev_nonfatal", aer),
          of_gpu("aer_dev_fatal", aer),
          of_port("state", [](const IbPort& p) { return p.state.known(); }),
          of_port("phys_state", [](const IbPort& p) { return p.physical_state.known(); }),
          of_port("rate", [](const IbPort& p) { return p.rate_gbps.known(); }),
          of_port("lid", [](const IbPort& p) { return p.lid.known(); }),
          of_port("sm_lid", [](const IbPort& p) { return p.sm_lid.known(); }),
          of_port("pkeys/0", [](const IbPort& p) { return p.pkeys.known(); }),
          of_port("gids/0", [](const IbPort& p) { return p.gid0.known(); }),
          of_port(
              "link_layer", [](const IbPort& p) { return !p.link_layer.empty(); }, true)};
}

// All tests share one tree: each damages its file and restores it.
class AnomalyTest : public ::testing::TestWithParam<File> {
 protected:
  static void SetUpTestSuite() {  // NOLINT(readability-identifier-naming): gtest's name
    shared_ = std::make_unique<TempDir>();
    for (const auto write :
         {write_identity, write_cpus, write_memory, write_mounts, write_disks, write_processes,
          write_services, write_network, write_kernel, write_devices}) {
      write(*shared_);
    }
  }

  static void TearDownTestSuite() { shared_.reset(); }  // NOLINT(readability-identifier-naming)

  void SetUp() override {
    original_ = tree_.read(GetParam().path);
    ASSERT_TRUE(known()) << "before the damage";
  }

  void TearDown() override {
    tree_.remove(GetParam().path);
    tree_.write(GetParam().path, original_);
  }

  [[nodiscard]] bool known() const { return GetParam().known(root_of(tree_)); }

 private:
  static inline std::unique_ptr<TempDir> shared_;  // NOLINT(readability-identifier-naming)
  std::string original_;

 protected:
  TempDir& tree_ = *shared_;
};

TEST_P(AnomalyTest, IsUnknownHoweverTheFileIsDamaged) {
  const auto& path = GetParam().path;
  tree_.remove(path);
  EXPECT_FALSE(known()) << "a missing file";
  tree_.write(path, "");
  EXPECT_FALSE(known()) << "an empty file";
  tree_.write(path, std::string(300'000, '7'));
  EXPECT_FALSE(known()) << "a huge file";
  tree_.write(path, "\xff\xfe garbage \x01 99999999999999999999999\n");
  EXPECT_TRUE(GetParam().is_text || !known()) << "a garbled file";
  tree_.link(path, "/nowhere/at/all");
  EXPECT_FALSE(known()) << "a dangling link";
  tree_.remove(path);
  tree_.write(fmt::format("{}/inside", path), "1\n");
  EXPECT_FALSE(known()) << "a folder";
}

std::vector<File> all_files() {
  auto files = host_files();
  for (const auto& more : {kernel_files(), device_files()}) {
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

std::string name_of(const ::testing::TestParamInfo<File>& info) {
  auto name = info.param.path;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

TEST(EmptyRootTest, IsAnErrorOrAbsent) {
  const TempDir empty;
  const Root root = root_of(empty);
  const auto expect = [](const auto& section, Status status, std::string_view reason) {
    EXPECT_EQ(section.status, status) << section.reason;
    EXPECT_EQ(section.reason, reason);
  };
  expect(probe_identity(root), Status::error,
         "open /proc/sys/kernel/hostname: No such file or directory");
  expect(probe_cpu(root), Status::error,
         "open /sys/devices/system/cpu/online: No such file or directory");
  expect(probe_memory(root), Status::error, "open /proc/meminfo: No such file or directory");
  expect(probe_mounts(root, 20s), Status::error, "open /proc/mounts: No such file or directory");
  expect(probe_disks(root), Status::error, "there is no /sys");
  expect(probe_processes(root), Status::error, "open /proc/loadavg: No such file or directory");
  expect(probe_kernel_log(root), Status::absent, "open /dev/kmsg: No such file or directory");
  expect(probe_network(root), Status::error, "open /sys/class/net: No such file or directory");
  expect(probe_pci(root), Status::absent, "open /sys/bus/pci/devices: No such file or directory");
  expect(probe_infiniband(root), Status::absent,
         "no RDMA core is loaded: /sys/class/infiniband does not exist");
  expect(probe_verbs(root), Status::absent,
         "libibverbs queries the running kernel, not the files below a foreign root");
}

INSTANTIATE_TEST_SUITE_P(Files, AnomalyTest, ::testing::ValuesIn(all_files()), name_of);

}  // namespace
}  // namespace muster
