// SPDX-License-Identifier: Apache-2.0
// Single lines about hosts, ports and GPUs on literal nodes.
#include <fmt/ranges.h>

#include <array>

#include "checks/nhc_conf/judge.hpp"
#include "checks/nhc_conf/table.hpp"
#include "tests/checks/nhc_conf/literal_node.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::lines_test {
namespace {

// The findings of "* || COMMAND".
Findings judge_line(const Snapshot& snapshot, std::string_view command,
                    const Profile& profile = {}) {
  const auto line =
      check_lines(parse_config("nhc.conf", fmt::format("* || {}\n", command))).front();
  const auto findings = row_of(line)->judge({snapshot, profile, line});
  return findings ? *findings : Findings{not_judged(findings.error().message)};
}

// "fail eth1": outcome and device of each finding, in order.
std::vector<std::string> outcomes(const Findings& findings) {
  std::vector<std::string> words;
  for (const auto& finding : findings) {
    words.push_back(fmt::format("{} {}", to_string(finding.outcome), finding.device));
  }
  return words;
}

std::string outcome_of(const Snapshot& snapshot, std::string_view command) {
  return fmt::format("{}", fmt::join(outcomes(judge_line(snapshot, command)), ", "));
}

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
  Snapshot node{.memory = observed(Memory{.swap_total_bytes = std::uint64_t{0}})};
  expect_outcomes(
      node, {{"check_hw_swap 0kB 0kB 3%", "pass node"}, {"check_hw_swap 1b 1TB", "fail node"}});
  node.memory->swap_total_bytes = 4 * kGib;
  EXPECT_EQ(outcome_of(node, "check_hw_swap 0kB 0kB 3%"), "fail node");
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
                      .space = make_error("stale file handle")},
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

IbPort port(unsigned number, unsigned state, unsigned physical, Fact<double> rate) {
  return {.number = number,
          .link_layer = "InfiniBand",
          .state = state,
          .physical_state = physical,
          .rate_gbps = std::move(rate)};
}

TEST(NhcIb, APortIsActiveAtTheRate) {
  const Snapshot node{
      .infiniband = observed(Infiniband{
          .hcas = {
              {.name = "mlx5_0", .ports = std::vector{port(1, 4, 5, 400.0), port(2, 1, 2, 10.0)}},
              {.name = "mlx5_1", .ports = std::vector{port(1, 4, 5, 200.0)}},
              {.name = "mlx5_2", .ports = std::vector{port(1, 4, 5, make_error("garbled"))}},
              {.name = "mlx5_3", .ports = make_error("garbled")}}})};
  for (const auto& [line, expected] : {std::pair{"400 mlx5_0:1", "pass mlx5_0:1"},
                                       {"400 mlx5_0", "pass mlx5_0"},
                                       {"400", "pass node"},
                                       {"'' mlx5_?:1", "pass mlx5_?:1"},
                                       {"400 mlx5_0:2", "fail mlx5_0:2"},
                                       {"400 mlx5_1:1", "fail mlx5_1:1"},
                                       {"400 mlx5_9:1", "fail mlx5_9:1"},
                                       {"800 mlx5_0:*", "fail mlx5_0:*"},
                                       {"400 mlx5_2:1", "unknown mlx5_2:1"},
                                       {"400 mlx5_3:1", "unknown mlx5_3"},
                                       {"fast", "unknown node"}}) {
    EXPECT_EQ(outcome_of(node, fmt::format("check_hw_ib {}", line)), expected) << line;
  }
  EXPECT_EQ(outcome_of({}, "check_hw_ib 400"), "fail node");
}

TEST(NhcIb, FailsWithoutTheManagementInterface) {
  Snapshot node{.infiniband = observed(Infiniband{
                    .hcas = {{.name = "mlx5_0", .ports = std::vector{port(1, 4, 5, 400.0)}}}})};
  EXPECT_EQ(outcome_of(node, "check_hw_ib 400"), "pass node");  // an older snapshot
  node.infiniband->umad = std::string("5");
  EXPECT_EQ(outcome_of(node, "check_hw_ib 400"), "pass node");
  node.infiniband->umad = make_missing("no such file");
  EXPECT_EQ(outcome_of(node, "check_hw_ib 400"), "fail node");
}

Gpu volta(unsigned index) {
  auto gpu = sound_gpu(index, true);
  gpu.firmware.vbios = std::string("88.00.80.00.02");
  return gpu;
}

Snapshot gpu_node() {
  return {.identity = observed(Identity{.hostname = "n3", .uptime_s = kUptime}),
          .kernel_log = observed(KernelLog{}),
          .infiniband = observed(Infiniband{.umad = std::string("5")}),
          .nvml = observed(Nvml{.driver = std::string("580.82.07"), .gpus = {volta(0), volta(1)}})};
}

Gpu& second_gpu(Snapshot& snapshot) { return snapshot.nvml.facts.gpus.at(1); }

Report report_of(const Snapshot& snapshot, std::string_view lines, const Profile& profile = {}) {
  return judge(snapshot, profile, parse_config("nhc.conf", lines), "manual");
}

Verdict verdict(const Snapshot& snapshot, std::string_view line) {
  return report_of(snapshot, fmt::format("* || {}\n", line)).verdict;
}

TEST(NhcGpuLines, RetiredPagesAreMemoryErrors) {
  auto node = gpu_node();
  EXPECT_EQ(verdict(node, "check_gpu_ecc"), Verdict::healthy);
  second_gpu(node).retired_pages = {
      .single_bit = std::uint64_t{60}, .double_bit = std::uint64_t{10}, .pending = true};
  EXPECT_EQ(verdict(node, "check_gpu_ecc"), Verdict::unhealthy);
}

TEST(NhcGpuLines, NoGpuMayBeExpected) {
  auto node = gpu_node();
  EXPECT_EQ(verdict(node, "check_gpu_count 2"), Verdict::healthy);
  EXPECT_EQ(verdict(node, "check_gpu_count 0"), Verdict::unhealthy);
}

TEST(NhcGpuLines, EveryGpuHasTheVbiosOfTheLine) {
  auto node = gpu_node();
  EXPECT_EQ(verdict(node, "check_vbios_version 88.00.80.00.02"), Verdict::healthy);
  EXPECT_EQ(verdict(node, "check_vbios_version 88.00"), Verdict::healthy);
  EXPECT_EQ(verdict(node, "check_vbios_version 8.00"), Verdict::unhealthy);
  second_gpu(node).firmware.vbios = std::string("88.00.43.00.03");
  EXPECT_EQ(verdict(node, "check_vbios_version 88.00.80.00.02"), Verdict::unhealthy);
  second_gpu(node).firmware.vbios = make_error("garbled");
  EXPECT_EQ(verdict(node, "check_vbios_version 88.00.80.00.02"), Verdict::unknown);
}

TEST(NhcGpuLines, AnInactiveLinkFailsUnlessTheProfileGivesTheNumber) {
  auto node = gpu_node();
  EXPECT_EQ(verdict(node, "check_nvlink_status"), Verdict::healthy);
  second_gpu(node).nvlinks->back().state = 0U;
  EXPECT_EQ(verdict(node, "check_nvlink_status"), Verdict::unhealthy);
  Profile profile;
  profile.gpu->nvlink_state.links = 1;
  for (const auto& finding : report_of(node, "* || check_nvlink_status\n", profile).findings) {
    EXPECT_EQ(finding.check.find("nhc."), std::string::npos);
  }
}

TEST(NhcGpuLines, GpusOfAmdAreCountedByTheirDriver) {
  auto node = gpu_node();
  node.nvml = {.status = Status::absent, .reason = "no NVML", .facts = {}};
  AmdGpu amd{.address = "0002:00:00.0"};
  amd.ras = std::map<std::string, RasCounts>{{"umc", {}}};
  node.pci = observed(Pci{.amd_gpus = {amd, amd}});
  EXPECT_EQ(verdict(node, "check_gpu_count 2 rocm"), Verdict::healthy);
  EXPECT_EQ(verdict(node, "check_gpu_count 8 rocm"), Verdict::unhealthy);
  EXPECT_EQ(verdict(node, "check_gpu_count many rocm"), Verdict::unknown);
  EXPECT_EQ(verdict(node, "check_gpu_xgmi"), Verdict::healthy);
  (*node.pci->amd_gpus.back().ras)["gfx"].uncorrected = 1;
  EXPECT_EQ(verdict(node, "check_gpu_count 2 rocm"), Verdict::unhealthy);
  node.pci->amd_gpus.clear();
  EXPECT_EQ(verdict(node, "check_gpu_count 2 rocm"), Verdict::unhealthy);
  EXPECT_EQ(verdict(node, "check_gpu_xgmi"), Verdict::unknown);
}

constexpr std::array kGpuLines{
    "check_gpu_count 2",          "check_nvsmi_healthmon", "check_gpu_ecc 20000000 10000",
    "check_gpu_clock_throttling", "check_app_gpu_clocks",  "check_gpu_persistence",
    "check_vbios_version 88",     "check_nvlink_status",   "check_nv_healthmon"};

TEST(NhcGpuLines, AHangingDriverFailsTheLinesAboutGpusOnly) {
  auto node = gpu_node();
  node.nvml = {.status = Status::timeout, .reason = "no answer in 5 s", .facts = {}};
  node.network = observed(Network{.interfaces = {{.name = "eth0"}}});
  Profile profile;
  profile.muster->probes.fatal = {"nvml"};
  for (const auto* line : kGpuLines) {
    const auto report = report_of(node, fmt::format("* || {}\n", line), profile);
    EXPECT_EQ(report.verdict, Verdict::unhealthy) << line;
    EXPECT_EQ(report.findings.front().check, "muster.probes") << line;
  }
  EXPECT_EQ(report_of(node, "* || check_hw_eth eth0\n", profile).verdict, Verdict::healthy);
}

TEST(NhcGpuLines, FailWithoutGpusAndAreUnknownIfNothingWasObserved) {
  const auto expect = [](const Snapshot& node, Verdict expected) {
    for (const auto* line : kGpuLines) EXPECT_EQ(verdict(node, line), expected) << line;
  };
  auto node = gpu_node();
  node.nvml = {};
  expect(node, Verdict::unknown);
  node.nvml = {.status = Status::absent, .reason = "no library", .facts = {}};
  expect(node, Verdict::unhealthy);
  node.identity->foreign_root = true;
  expect(node, Verdict::unknown);
  node.identity->foreign_root = false;
  node.nvml = observed(Nvml{});
  expect(node, Verdict::unhealthy);
  node.nvml = observed(Nvml{.trouble = "driver not loaded", .trouble_code = 9});
  expect(node, Verdict::unhealthy);
  node.nvml = {.status = Status::error, .reason = "killed by signal 11", .facts = {}};
  expect(node, Verdict::unhealthy);
  node.nvml.reason = "killed by signal 9";
  expect(node, Verdict::unknown);
}

TEST(NhcLinkFlaps, CountsTheLinksThatWentDownOnTheFirstRun) {
  constexpr std::array kMessages{
      std::pair{"mlx5_core 0101:00:00.0 mlx5_ib0: Port: 1 Link DOWN", "mlx5_ib0"},
      std::pair{"mlx5_core 0101:00:00.0 ib0: Link down", "ib0"},
      std::pair{"ib6: Lost carrier", "ib6"}};
  for (const auto& [text, adapter] : kMessages) {
    auto node = gpu_node();
    for (int i = 0; i < 4; ++i) log(node, 1 + i, text);
    EXPECT_NE(verdict(node, "check_ib_link_flapping"), Verdict::unhealthy) << text;
    log(node, 20, text);
    const auto report = report_of(node, "* || check_ib_link_flapping\n");
    EXPECT_EQ(report.verdict, Verdict::unhealthy) << text;
    EXPECT_EQ(report.findings.front().device, adapter);
    EXPECT_NE(verdict(node, "check_ib_link_flapping 12 5"), Verdict::unhealthy);
    EXPECT_EQ(verdict(node, "check_ib_link_flapping 2 2"), Verdict::unhealthy);
  }
}

}  // namespace
}  // namespace muster::nhc::lines_test
