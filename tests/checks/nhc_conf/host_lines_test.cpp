// SPDX-License-Identifier: Apache-2.0
// Lines about processors, memory, interfaces, file systems, load and services on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checks/nhc_conf/judge_line.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::host_lines_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;

// The outcome and the device of a line on a node.
struct Case {
  std::string_view line, expected;
};

void expect_outcomes(const Snapshot& node, const std::vector<Case>& cases) {
  for (const auto& [line, expected] : cases) EXPECT_EQ(outcome_of(node, line), expected) << line;
}

TEST(NhcCpuinfo, ComparesTheCountsThatTheLineGives) {
  const Snapshot node{.cpu = observed(Cpu{.sockets = 2U, .cores = 96U, .threads = 192U})};
  expect_outcomes(node, {{"check_hw_cpuinfo 2 96 192", "pass node"},
                         {"check_hw_cpuinfo 2", "pass node"},
                         {"check_hw_cpuinfo '' '' 192", "pass node"},
                         {"check_hw_cpuinfo 2 128 96", "fail node, fail node"},
                         {"check_hw_cpuinfo two", "unknown node"},
                         // On Arm, NHC counts each processor as a socket.
                         {"check_hw_cpuinfo 192 192 192", "pass node"},
                         {"check_hw_cpuinfo 191 191 191", "fail node, fail node, fail node"}});
  const auto findings = judge_line(node, "check_hw_cpuinfo 2 128 96");
  EXPECT_EQ(findings[0].observed, Value(std::int64_t{96}));
  EXPECT_EQ(findings[0].limit, Value(std::int64_t{128}));
  EXPECT_EQ(findings[0].remedy, Remedy::reseat_or_replace);
  EXPECT_EQ(findings[1].remedy, Remedy::fix_config);
  EXPECT_EQ(outcome_of({.cpu = observed(Cpu{})}, "check_hw_cpuinfo 2"), "unknown node");
}

TEST(NhcPhysmem, ComparesTheSizeWithinTheTolerance) {
  const auto node = [](std::uint64_t gib) {
    return Snapshot{.memory = observed(Memory{.total_bytes = gib * kGib})};
  };
  expect_outcomes(node(100), {{"check_hw_physmem 100GB 100GB", "pass node"},
                              {"check_hw_physmem 1k", "pass node"},
                              {"check_hw_physmem 101g 200g", "fail node"},
                              {"check_hw_physmem 1GB 50GB", "fail node"},
                              {"check_hw_physmem 101GB 101GB 2GB", "pass node"},
                              {"check_hw_physmem lots", "unknown node"},
                              {"check_hw_physmem 1 2 x%", "unknown node"}});
  // A percentage is one of the observed size.
  EXPECT_EQ(outcome_of(node(96), "check_hw_physmem 100GB 100GB 5%"), "pass node");
  EXPECT_THAT(
      judge_line(node(95), "check_hw_physmem 100GB 100GB 5%"),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::fail,
                          .message = "95.0 GiB of memory, expected at least 100.0 GiB within 5%",
                          .observed = static_cast<std::int64_t>(95 * kGib),
                          .limit = static_cast<std::int64_t>(100 * kGib),
                          .unit = "B",
                          .remedy = Remedy::reseat_or_replace}));
  EXPECT_EQ(outcome_of({.memory = observed(Memory{})}, "check_hw_physmem 1"), "unknown node");
}

TEST(NhcSwap, ComparesTheSizeOfSwap) {
  const Snapshot none{.memory = observed(Memory{.swap_total_bytes = std::uint64_t{0}})};
  expect_outcomes(
      none, {{"check_hw_swap 0kB 0kB 3%", "pass node"}, {"check_hw_swap 1b 1TB", "fail node"}});
  const Snapshot some{.memory = observed(Memory{.swap_total_bytes = 4 * kGib})};
  EXPECT_EQ(outcome_of(some, "check_hw_swap 0kB 0kB 3%"), "fail node");
}

TEST(NhcEth, LooksForTheInterface) {
  const Snapshot node{.network =
                          observed(Network{.interfaces = {{.name = "eth0"}, {.name = "ib0"}}})};
  expect_outcomes(node, {{"check_hw_eth eth0", "pass eth0"},
                         {"check_hw_eth lo", "pass lo"},
                         {"check_hw_eth ib[0-7]", "pass ib[0-7]"},
                         {"check_hw_eth eth1", "fail eth1"}});
}

Snapshot mounted() {
  return {.mounts = observed(
              Mounts{.mounts = {{.point = "/", .type = "ext4", .source = "/dev/sda1"},
                                {.point = "/scratch", .type = "nfs", .source = "fs1:/export"},
                                {.point = "/scratch", .type = "lustre", .source = "fs2:/scratch"},
                                {.point = "/opt",
                                 .type = "nfs4",
                                 .source = "fs1:/opt",
                                 .read_only = true,
                                 .options = std::vector<std::string>{"ro", "noatime"}}},
                     .automounts = {"/home"},
                     .kernel = std::vector<KernelMount>{
                         {.point = "/proc", .type = "proc", .source = "proc"},
                         {.point = "/auto", .type = "autofs", .source = "map"}}})};
}

TEST(NhcMount, ComparesThePointSourceTypeAndOptions) {
  expect_outcomes(mounted(),
                  {{"check_fs_mount /", "pass /"},
                   {"check_fs_mount / /dev/sda1 ext*", "pass /"},
                   {"check_fs_mount / '' /ext[34]/", "pass /"},
                   {"check_fs_mount / !/dev/sda*", "fail /"},
                   {"check_fs_mount /net", "fail /net"},
                   {"check_fs_mount_rw -t lustre -s fs[0-9]:/* -f /scratch", "pass /scratch"},
                   {"check_fs_mount /scratch '' nfs", "fail /scratch"},  // the upper mount counts
                   {"check_fs_mount -f / -- /net", "pass /, fail /net"},
                   {"check_fs_mount_rw /", "pass /"},
                   {"check_fs_mount_rw /opt", "fail /opt"},
                   {"check_fs_mount_ro /opt", "pass /opt"},
                   {"check_fs_mount_ro /", "fail /"},
                   {"check_fs_mount -o *noatime* /opt", "pass /opt"},
                   {"check_fs_mount_rw -t proc -s proc -f /proc", "pass /proc"},
                   // muster runs no command and mounts nothing.
                   {"check_fs_mount -r -f /net", "unknown node"},
                   {"check_fs_mount -t", "unknown node"},
                   {"check_fs_mount -t nfs", "unknown node"},
                   {"check_fs_mount / '' '/(/'", "unknown /"}});
}

TEST(NhcMount, AnAutomountThatWasNotUsedIsUnknown) {
  expect_outcomes(mounted(), {{"check_fs_mount /home", "unknown /home"},
                              {"check_fs_mount /home/alice", "unknown /home/alice"},
                              {"check_fs_mount /homes", "fail /homes"},
                              {"check_fs_mount /auto", "pass /auto"},
                              {"check_fs_mount_rw /auto", "unknown /auto"},
                              {"check_fs_mount -t nfs -f /auto", "unknown /auto"}});
}

TEST(NhcMount, AnOlderSnapshotDoesNotFailAMissingMount) {
  auto node = mounted();
  node.mounts->kernel = {};
  EXPECT_EQ(outcome_of(node, "check_fs_mount /sys"), "unknown /sys");
  EXPECT_EQ(outcome_of(node, "check_fs_mount /"), "pass /");
}

TEST(NhcSpace, CountsAsDfDoes) {
  // 100 GiB with 20 used and 60 free for users; 1000 inodes with 901 used.
  const Snapshot node{
      .mounts = observed(Mounts{
          .mounts = {{.point = "/tmp",
                      .type = "ext4",
                      .source = "/dev/sda1",
                      .space = Space{.total_bytes = 100 * kGib,
                                     .available_bytes = 60 * kGib,
                                     .used_bytes = 20 * kGib,
                                     .inodes_total = 1000,
                                     .inodes_free = 99}},
                     {.point = "/hung", .type = "nfs", .source = "fs:/x", .hung = true},
                     {.point = "/odd",
                      .type = "nfs",
                      .source = "fs:/y",
                      .space = Fact<Space>::unreadable("stale file handle")},
                     {.point = "/empty", .type = "tmpfs", .source = "x", .space = Space{}}}})};
  expect_outcomes(node, {{"check_fs_free /tmp 75%", "pass /tmp"},
                         {"check_fs_free /tmp 76%", "fail /tmp"},
                         {"check_fs_free /tmp 60GB", "pass /tmp"},
                         {"check_fs_free /tmp 61GB", "fail /tmp"},
                         {"check_fs_used /tmp 26%", "pass /tmp"},
                         {"check_fs_used /tmp 25%", "fail /tmp"},
                         {"check_fs_used /tmp 20g", "fail /tmp"},
                         {"check_fs_ifree /tmp 9%", "pass /tmp"},
                         {"check_fs_ifree /tmp 1k", "fail /tmp"},
                         {"check_fs_iused /tmp 92%", "pass /tmp"},
                         {"check_fs_iused /tmp 91%", "fail /tmp"},
                         {"check_fs_free /tmp much", "unknown /tmp"},
                         {"check_fs_free /scratch 5%", "skip /scratch"},
                         {"check_fs_ifree /empty 5%", "skip /empty"},
                         {"check_fs_used /hung 5%", "fail /hung"},
                         {"check_fs_used /odd 5%", "unknown /odd"}});
}

TEST(NhcLoad, ComparesTheLoadAverages) {
  const Snapshot node{.processes = observed(Processes{.load1 = 4.0, .load5 = 3.0})};
  expect_outcomes(node, {{"check_ps_loadavg 5", "pass node"},
                         {"check_ps_loadavg 4", "fail node"},
                         {"check_ps_loadavg '' 3.5", "pass node"},
                         {"check_ps_loadavg 4 3", "fail node, fail node"},
                         {"check_ps_loadavg 5 5 5", "unknown node"},
                         {"check_ps_loadavg x", "unknown node"}});
}

TEST(NhcService, LooksForTheUnit) {
  const std::vector<std::string> active{"ssh.service", "munge.service", "ntp.service"};
  const Snapshot node{.services = observed(Services{
                          .active = active, .of_root = std::vector<std::string>{"ssh.service"}})};
  expect_outcomes(node, {{"check_ps_service munge", "pass munge"},
                         {"check_ps_service -S -u root sshd", "pass sshd"},
                         {"check_ps_service -S -d qmgr postfix", "fail postfix"},
                         {"check_ps_service -r munge.service", "pass munge.service"},
                         {"check_ps_service -u root munge", "unknown munge"},
                         {"check_ps_service -u ntp ntpd", "unknown ntpd"},
                         {"check_ps_service -k sshd", "unknown node"},
                         {"check_ps_service munge sshd", "unknown node"}});
  EXPECT_EQ(outcome_of({.services = observed(Services{})}, "check_ps_service x"), "unknown node");
}

}  // namespace
}  // namespace muster::nhc::host_lines_test
