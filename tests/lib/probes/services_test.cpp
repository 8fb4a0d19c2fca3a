// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

using Units = std::vector<std::string>;

class ServicesProbeTest : public ProbeTest<probe_services> {
 protected:
  [[nodiscard]] Fact<Units> active() const { return probe()->active; }
};

TEST_F(ServicesProbeTest, ListsUnitsWithProcessesOrInvocations) {
  write_services(tree_);
  EXPECT_EQ(active(),
            Fact<Units>(Units{"containerd.service", "nvidia-setup.service", "slurmd.service"}));
}

TEST_F(ServicesProbeTest, FindsRootsUnitsByTheirFirstProcess) {
  tree_.write("sys/fs/cgroup/system.slice/here.service/cgroup.procs", "7\n8\n");
  tree_.write("sys/fs/cgroup/system.slice/gone.service/cgroup.procs", "9\n");
  tree_.write("sys/fs/cgroup/system.slice/other.service/cgroup.procs", "0\n");
  tree_.write("proc/7/status", "");
  const auto services = probe();
  EXPECT_EQ(services->active, Fact<Units>(Units{"gone.service", "here.service", "other.service"}));
  // The tree is ours.
  EXPECT_EQ(services->of_root, Fact<Units>(::geteuid() == 0 ? Units{"here.service"} : Units{}));
}

TEST_F(ServicesProbeTest, FailedUnitsAreAbsent) {
  EXPECT_EQ(probe()->failed,
            Fact<Units>::absent("systemd writes the units that have failed into no file"));
}

TEST_F(ServicesProbeTest, ReadsSystemdsOwnHierarchyOnOlderKernels) {
  tree_.write("sys/fs/cgroup/systemd/system.slice/sshd.service/cgroup.procs", "7\n");
  EXPECT_EQ(active(), Fact<Units>(Units{"sshd.service"}));
}

TEST_F(ServicesProbeTest, FindsInstancesOfATemplateInTheirSlice) {
  tree_.write("sys/fs/cgroup/system.slice/system-getty.slice/getty@tty1.service/cgroup.procs",
              "7\n");
  EXPECT_EQ(active(), Fact<Units>(Units{"getty@tty1.service"}));
}

TEST_F(ServicesProbeTest, SkipsGroupsThatAreEmptyOrDisappear) {
  tree_.write("sys/fs/cgroup/system.slice/dead.service/cgroup.procs", "");
  tree_.link("sys/fs/cgroup/system.slice/gone.service", "nowhere");
  EXPECT_EQ(active(), Fact<Units>(Units{}));
}

TEST_F(ServicesProbeTest, TrustsSystemdsLinkIfProcessesAreUnreadable) {
  tree_.write("sys/fs/cgroup/system.slice/odd.service/cgroup.procs", "many\n");
  EXPECT_TRUE(active().is_unreadable());
  tree_.link("run/systemd/units/invocation:odd.service", "86c2");
  EXPECT_EQ(active(), Fact<Units>(Units{"odd.service"}));
}

TEST_F(ServicesProbeTest, UnitsAreAbsentOnlyWithoutSystemd) {
  EXPECT_EQ(active(), Fact<Units>::absent("systemd does not run this node"));
  tree_.write("run/systemd/system/.keep", "");
  EXPECT_TRUE(active().is_unreadable());
}

TEST_F(ServicesProbeTest, LimitsTheDepthOfGroups) {
  std::string path = "sys/fs/cgroup/system.slice/deep.service";
  for (int i = 0; i < 40; ++i) {
    tree_.write(fmt::format("{}/cgroup.procs", path), "");
    path.append("/g");
  }
  tree_.link("sys/fs/cgroup/system.slice/deep.service/loop", ".");
  EXPECT_FALSE(active().known());
}

}  // namespace
}  // namespace muster
