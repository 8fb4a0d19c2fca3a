// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

constexpr std::string_view kLimits =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max open files            1024                 1048576              files     \n"
    "Max locked memory         unlimited            unlimited            bytes     \n";

Fact<std::string> text_fact(std::string text) { return text; }

class KernelTest : public ::testing::Test {
 protected:
  [[nodiscard]] Kernel probe(const std::vector<std::string>& sysctls = {}) const {
    return *probe_kernel(*Root::below(dir_.path()), sysctls);
  }

  void write_slurmd(unsigned pid, unsigned user) const {
    const auto folder = fmt::format("proc/{}", pid);
    dir_.write(fmt::format("{}/comm", folder), "slurmd\n");
    dir_.write(fmt::format("{}/status", folder),
               fmt::format("Name:\tslurmd\nUid:\t{}\t0\t0\t0\n", user));
    dir_.write(fmt::format("{}/limits", folder), kLimits);
  }

  TempDir dir_;
};

TEST_F(KernelTest, ReadsReleaseCommandLineAndClocksource) {
  dir_.write("proc/sys/kernel/osrelease", "5.15.0-1042-azure\n");
  dir_.write("proc/cmdline", "BOOT_IMAGE=/vmlinuz iommu=pt\n");
  dir_.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  const auto kernel = probe();
  EXPECT_EQ(kernel.release, text_fact("5.15.0-1042-azure"));
  EXPECT_EQ(kernel.command_line, text_fact("BOOT_IMAGE=/vmlinuz iommu=pt"));
  EXPECT_EQ(kernel.clocksource, text_fact("tsc"));
  EXPECT_TRUE(kernel.clock.is_absent());
}

TEST_F(KernelTest, DistinguishesNoParametersFromAnEmptyFile) {
  dir_.write("proc/cmdline", "\n");
  EXPECT_EQ(probe().command_line, text_fact(""));
  dir_.write("proc/cmdline", "");
  EXPECT_TRUE(probe().command_line.is_unreadable());
}

TEST_F(KernelTest, ReadsSysctlsByDotsOrSlashes) {
  dir_.write("proc/sys/vm/zone_reclaim_mode", "0\n");
  dir_.write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
  dir_.write("proc/sys/net/ipv4/conf/eth0.100/rp_filter", "1\n");
  const auto kernel = probe(
      {"vm.zone_reclaim_mode", "net.ipv4.tcp_rmem", "net/ipv4/conf/eth0.100/rp_filter", "no.such"});
  EXPECT_EQ(kernel.sysctl.at("vm.zone_reclaim_mode"), text_fact("0"));
  EXPECT_EQ(kernel.sysctl.at("net.ipv4.tcp_rmem"), text_fact("4096 131072 6291456"));
  EXPECT_EQ(kernel.sysctl.at("net/ipv4/conf/eth0.100/rp_filter"), text_fact("1"));
  EXPECT_TRUE(kernel.sysctl.at("no.such").is_absent());
}

TEST_F(KernelTest, RefusesSysctlKeysThatLeaveTheFolder) {
  dir_.write("proc/sys/vm/x", "0\n");
  dir_.write("etc/shadow", "secret\n");
  EXPECT_TRUE(probe({"../../etc/shadow"}).sysctl.at("../../etc/shadow").is_unreadable());
}

TEST_F(KernelTest, ReadsTheSelectedHugePagePolicy) {
  dir_.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(probe().transparent_hugepage, text_fact("madvise"));
  dir_.write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise never\n");
  EXPECT_TRUE(probe().transparent_hugepage.is_unreadable());
}

TEST_F(KernelTest, ListsModulesLoadedOrBuiltIn) {
  dir_.write("sys/module/nvidia_uvm/initstate", "live\n");
  dir_.write("sys/module/printk/parameters/time", "Y\n");
  EXPECT_THAT(*probe().modules, ElementsAre("nvidia_uvm", "printk"));
}

TEST_F(KernelTest, ReadsTheLimitsOfTheProcessThatStartsJobs) {
  dir_.write("proc/1/comm", "systemd\n");
  EXPECT_TRUE(probe().limits.memlock_bytes.is_absent());
  write_slurmd(1000, 0);
  write_slurmd(900, 0);
  EXPECT_EQ(probe().limits, (Limits{.process = "slurmd (900)",
                                    .memlock_bytes = std::string("unlimited"),
                                    .open_files = std::string("1024")}));
}

TEST_F(KernelTest, FindsTheProcessThatStartsJobsByItsUnit) {
  dir_.write("sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs", "77\n76\n75\n");
  dir_.write("proc/75/comm", "slurmstepd\n");
  write_slurmd(76, 0);
  EXPECT_EQ(probe().limits.process, "slurmd (76)");
  write_slurmd(76, 11100);  // of another user
  EXPECT_EQ(probe().limits.process, "slurmd (76)");
}

// Any process may take the name, and a set-uid program of a user keeps his real user id.
TEST_F(KernelTest, IgnoresAUsersProcessNamedSlurmd) {
  write_slurmd(800, 1001);
  EXPECT_TRUE(probe().limits.memlock_bytes.is_absent());
  dir_.write("sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs", "800\n900\n");
  write_slurmd(900, 0);
  EXPECT_EQ(probe().limits.process, "slurmd (900)");
}

TEST_F(KernelTest, UnreadableLimitsAreNotAbsent) {
  dir_.write("proc/900/comm", "slurmd\n");
  EXPECT_TRUE(probe().limits.memlock_bytes.is_unreadable());
  dir_.write("proc/900/limits",
             "Max locked memory         some                 more                 bytes\n");
  EXPECT_THAT(probe().limits.memlock_bytes.why(), HasSubstr("no soft limit"));
  EXPECT_THAT(probe().limits.open_files.why(), HasSubstr("no line"));
}

TEST_F(KernelTest, TheHostHasAClockAndLimits) {
  const auto kernel = *probe_kernel(Root(), {});
  EXPECT_TRUE(kernel.clock.known()) << kernel.clock.why();
  EXPECT_TRUE(kernel.limits.memlock_bytes.known()) << kernel.limits.memlock_bytes.why();
}

TEST_F(KernelTest, ReadsTheCapabilityToLockMemory) {
  const auto has = [&](std::string_view bits) {
    dir_.write("proc/self/status", fmt::format("Name:\tmuster\nCapEff:\t{}\n", bits));
    return has_ipc_lock(*Root::below(dir_.path()));
  };
  EXPECT_TRUE(has("000001ffffffffff"));
  EXPECT_FALSE(has("00000000a80425fb"));
  EXPECT_FALSE(has("none"));
}

TEST_F(KernelTest, TheCapabilityLiftsItsOwnLimitOfLockedMemory) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit low{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &low), 0);
  const auto limits = probe_kernel(Root(), {})->limits;
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &before), 0);
  if (limits.process != kOwnLimits) GTEST_SKIP() << limits.process << " runs here";
  EXPECT_EQ(limits.memlock_bytes, text_fact(has_ipc_lock(Root()) ? "unlimited" : "4096"));
}

TEST_F(KernelTest, ReadsMemoryErrorCountersByController) {
  EXPECT_TRUE(probe().edac.is_absent());
  dir_.write("sys/devices/system/edac/mc/power/control", "auto\n");
  EXPECT_TRUE(probe().edac.is_absent());
  dir_.write("sys/devices/system/edac/mc/mc0/ce_count", "12\n");
  dir_.write("sys/devices/system/edac/mc/mc0/ue_count", "0\n");
  dir_.write("sys/devices/system/edac/mc/mc1/ce_count", "many\n");
  const auto edac = probe().edac;
  ASSERT_TRUE(edac.known());
  ASSERT_EQ(edac->size(), 2U);
  EXPECT_EQ(edac->at(0), (EdacController{.name = "mc0", .corrected = 12UL, .uncorrected = 0UL}));
  EXPECT_TRUE(edac->at(1).corrected.is_unreadable());
  EXPECT_TRUE(edac->at(1).uncorrected.is_absent());
}

TEST_F(KernelTest, ReadsTheTemperaturesOfZonesAndTheirLimits) {
  EXPECT_TRUE(probe().thermal_zones.is_absent());
  const std::string zone = "sys/class/thermal/thermal_zone0";
  dir_.write(fmt::format("{}/type", zone), "TH00\n");
  dir_.write(fmt::format("{}/temp", zone), "41500\n");
  dir_.write(fmt::format("{}/trip_point_0_type", zone), "passive\n");
  dir_.write(fmt::format("{}/trip_point_1_type", zone), "critical\n");
  dir_.write(fmt::format("{}/trip_point_1_temp", zone), "103000\n");
  dir_.write("sys/class/thermal/cooling_device0/type", "Processor\n");
  const auto zones = probe().thermal_zones;
  ASSERT_TRUE(zones.known()) << zones.why();
  EXPECT_THAT(*zones, ElementsAre(ThermalZone{
                          .name = "thermal_zone0 (TH00)",
                          .now_c = 41.5,
                          .critical_c = 103.0,
                          .hot_c = Fact<double>::absent("the zone has no hot trip point")}));
}

}  // namespace
}  // namespace muster
