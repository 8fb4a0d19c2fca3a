// SPDX-License-Identifier: Apache-2.0
// Judging, and the coverage of a report.
#include "checks/run.hpp"

#include "tests/checks/ask.hpp"

namespace muster::run_test {
namespace {

using ::testing::Field;

constexpr double kGib = 1024.0 * 1024 * 1024;

// A node on which host.swap passes, until a test makes it otherwise.
Snapshot node(std::uint64_t swap_bytes = 0) {
  Snapshot snapshot;
  snapshot.taken = "2026-11-20T12:00:00Z";
  snapshot.identity =
      observed(Identity{.hostname = "gpu-0007", .physical_host = std::string("X1")});
  snapshot.memory = observed(Memory{.swap_total_bytes = swap_bytes});
  return snapshot;
}

Profile no_swap() {
  Profile profile;
  profile.name = "test";
  profile.host->swap.total = Bytes{0};
  return profile;
}

const Selection kSwap{.only = {"host.swap"}};

TEST(JudgeTest, IsHealthyWhenARuleHeld) {
  const Report report = judge(node(), no_swap(), kSwap);
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"host.swap", Outcome::pass}));
  EXPECT_EQ(report.node, "gpu-0007");
  EXPECT_EQ(report.profile, "test");
  EXPECT_EQ(report.physical_host, "X1");
  EXPECT_EQ(report.started, "2026-11-20T12:00:00Z");
}

TEST(PartsTest, AreThoseThatTheChecksAskFor) {
  const auto parts_of = [](std::vector<std::string> only) {
    return parts_asked(select_checks(Profile{}, {.only = std::move(only)}));
  };
  EXPECT_EQ(parts_of({"gpu.present"}), NvmlParts());
  EXPECT_EQ(parts_of({"gpu.p2p", "gpu.nvlink_state"}), (NvmlParts{.links = true, .pairs = true}));
  EXPECT_EQ(parts_of({"*"}), NvmlParts::all());
}

TEST(JudgeTest, AFailureCarriesAzuresCodeAndCategory) {
  EXPECT_EQ(checks::ib_flaps::check.code, "NHC2005");
  EXPECT_EQ(impact_category("NHC2005"), "Resource.Hpc.Unhealthy.IBPortFlapping");
  EXPECT_EQ(impact_category(""), "");
  for (const auto* check : checks::kAll) {
    if (check->code.empty()) continue;
    EXPECT_NE(impact_category(check->code), "") << check->id;
  }
  Profile profile = no_swap();
  const Report healthy = judge(node(), profile, kSwap);
  EXPECT_EQ(healthy.findings.at(0).category, "");
}

TEST(JudgeTest, NamesTheProbesThatWereAskedAndNoOthers) {
  Snapshot snapshot = node();
  snapshot.infiniband = {.status = Status::absent, .reason = "no RDMA stack"};
  EXPECT_THAT(judge(snapshot, no_swap(), kSwap).probes,
              ElementsAre(ProbeResult{"identity", "ok", 0}, ProbeResult{"memory", "ok", 0},
                          ProbeResult{"infiniband", "absent", 0, "no RDMA stack"}));
}

TEST(JudgeTest, AWarningIsHealthyUnlessThePolicyCallsItAFailure) {
  Profile profile = no_swap();
  EXPECT_EQ(judge(node(8 * static_cast<std::uint64_t>(kGib)), profile, kSwap).verdict,
            Verdict::healthy);
  profile.policies["host.swap"].warn_as = Outcome::fail;
  const Report report = judge(node(8 * static_cast<std::uint64_t>(kGib)), profile, kSwap);
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"host.swap", Outcome::fail}));
}

Finding of_node(std::string check, Outcome outcome, std::string message) {
  return {.check = std::move(check),
          .device = "node",
          .outcome = outcome,
          .message = std::move(message)};
}

TEST(JudgeTest, ASectionThatTimedOutMakesTheCheckUnknown) {
  Snapshot snapshot = node();
  snapshot.memory = {.status = Status::timeout, .reason = "no answer within 5 s"};
  const Report report = judge(snapshot, no_swap(), kSwap);
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(
      report.findings,
      ElementsAre(of_node("host.swap", Outcome::unknown,
                          "not judged, the memory probe reports timeout: no answer within 5 s")));
  // Without a limit, the section is not needed.
  EXPECT_THAT(judge(snapshot, Profile{}, kSwap).findings,
              ElementsAre(of_node("host.swap", Outcome::skip,
                                  "no amount of swap expected by this profile")));
}

TEST(JudgeTest, ReportsAllMissingSectionsTogether) {
  EXPECT_THAT(judge(Snapshot{}, Profile{}, {.only = {"host.memory"}}).findings,
              ElementsAre(of_node("host.memory", Outcome::unknown,
                                  "not judged, the cpu probe reports absent: not observed; "
                                  "the memory probe reports absent: not observed")));
}

// As in a snapshot with fewer sections than the checks need.
TEST(JudgeTest, ASectionThatWasNotQueriedIsNoEvidence) {
  Snapshot snapshot = node();
  snapshot.pci = observed(Pci{.devices = {{.address = "0001:00:00.0", .kind = PciKind::hca}}});
  snapshot.infiniband = observed(Infiniband{.hcas = {{.name = "mlx5_0"}}});
  Profile profile;
  profile.gpu->present.count = 8;
  profile.ib->present.count = 1;
  const auto outcome = [&](std::string id) {
    return judge(snapshot, profile, {.only = {std::move(id)}}).findings.at(0).outcome;
  };
  EXPECT_EQ(outcome("gpu.driver"), Outcome::unknown);
  EXPECT_EQ(outcome("ib.verbs"), Outcome::unknown);
  snapshot.infiniband = {};
  EXPECT_EQ(outcome("ib.present"), Outcome::unknown);
}

TEST(JudgeTest, SkipsWithoutHcasEvenWithoutOtherSections) {
  Snapshot snapshot = node();
  snapshot.infiniband = {.status = Status::absent, .reason = "no RDMA stack"};
  snapshot.network = {.status = Status::error, .reason = "killed by signal 11"};
  EXPECT_THAT(judge(snapshot, Profile{}, {.only = {"ib.flaps"}}).findings,
              ElementsAre(of_node("ib.flaps", Outcome::skip,
                                  "no InfiniBand HCAs expected by this profile")));
  snapshot.infiniband = {.status = Status::timeout, .reason = "no answer within 5 s"};
  EXPECT_THAT(judge(snapshot, Profile{}, {.only = {"ib.*"}}).findings,
              Each(Field(&Finding::outcome, Outcome::unknown)));
}

TEST(JudgeTest, AKernelLogThatCannotBeReadCostsNoCheckThatOnlyLooksAtIt) {
  Snapshot snapshot = node();
  snapshot.identity->uptime_s = 7200.0;
  snapshot.processes = observed(Processes{
      .uninterruptible =
          std::vector<Task>{{.pid = 77, .name = "dd", .user = 0U, .stuck_since_s = 3200.0}},
      .zombies = std::vector<Task>{}});
  snapshot.kernel_log = {.status = Status::error, .reason = "Operation not permitted"};
  Profile profile;
  profile.host->stuck_tasks.uninterruptible_for = Seconds{600};
  EXPECT_THAT(judge(snapshot, profile, {.only = {"host.stuck_tasks"}}).checks,
              ElementsAre(CheckResult{"host.stuck_tasks", Outcome::fail}));
}

TEST(JudgeTest, NothingJudgedIsNotHealthy) {
  const Report report = judge(node(), Profile{}, kSwap);
  EXPECT_THAT(report.findings, Each(Field(&Finding::outcome, Outcome::skip)));
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_EQ(judge(node(), no_swap(), {.only = {"no.such"}}).verdict, Verdict::unknown);
}

TEST(JudgeTest, AContextDecidesWhichUnknownsCount) {
  Snapshot snapshot = node();
  snapshot.memory->swap_total_bytes = make_error("garbled");
  Profile profile = no_swap();
  profile.contexts["prolog"].count_unknown = {"ib.*"};
  const Selection both{.only = {"host.swap", "muster.probes"}};
  const auto counted = judge(snapshot, profile, both);
  EXPECT_EQ(counted.verdict, Verdict::unknown);
  EXPECT_THAT(counted.undecided, ElementsAre("host.swap"));
  const auto left = judge(snapshot, profile, {.context = "prolog", .only = both.only});
  EXPECT_EQ(left.verdict, Verdict::healthy);
  EXPECT_THAT(left.undecided, IsEmpty());
}

TEST(JudgeTest, PutsTheWorstFirst) {
  Snapshot snapshot = node(1);
  snapshot.cpu = {.status = Status::error, .reason = "killed by signal 11"};
  snapshot.mounts = {.status = Status::timeout, .reason = "no answer"};
  Profile profile = no_swap();
  profile.muster->probes.fatal = {"mounts"};
  const Report report = judge(snapshot, profile, {.only = {"host.swap", "muster.*"}});
  std::vector<Outcome> outcomes;
  for (const auto& finding : report.findings) outcomes.push_back(finding.outcome);
  EXPECT_THAT(outcomes, ElementsAre(Outcome::fail, Outcome::unknown, Outcome::warn, Outcome::skip));
}

TEST(JudgeTest, HostileTextInAFindingIsInert) {
  Snapshot snapshot = node();
  snapshot.cpu = {.status = Status::error, .reason = "\x1b[2J\nhealthy"};
  const Report report = judge(snapshot, no_swap(), {.only = {"muster.probes"}});
  EXPECT_EQ(report.findings.front().message, "the cpu probe failed: \\x1b[2J\\x0ahealthy");
}

std::vector<std::string> ids_of(const Profile& profile, const Selection& selection) {
  std::vector<std::string> ids;
  for (const auto* check : select_checks(profile, selection)) ids.emplace_back(check->id);
  return ids;
}

TEST(SelectTest, RunsOneMoreThatTheContextSkips) {
  Profile profile;
  profile.contexts["periodic"] = {.run = {"host.s*"}, .skip = {"host.swap"}};
  const auto selected = [&](const char* also) {
    return ids_of(profile, {.context = "periodic", .also = also});
  };
  const auto without = selected("");
  for (const auto* also : {"host.swap", "ib.rate"}) {
    auto with = selected(also);
    EXPECT_EQ(std::erase(with, also), 1U);
    EXPECT_EQ(with, without);
  }
  EXPECT_EQ(selected("host.services"), without);
  profile.policies["host.swap"].enabled = false;
  EXPECT_EQ(selected("host.swap"), without);
}

TEST(SelectTest, RunsChecksOfTheContextThatTheProfileEnables) {
  Profile profile;
  profile.contexts["prolog"] = {.run = {"host.*"}, .skip = {"host.h*"}};
  profile.policies["host.swap"].enabled = false;
  const auto ids = ids_of(profile, {.context = "prolog", .skip = {"host.*s"}});
  EXPECT_THAT(ids, Contains("host.cpu"));
  for (const auto* left_out : {"host.hugepages", "host.swap", "host.mounts", "ib.rate"}) {
    EXPECT_THAT(ids, ::testing::Not(Contains(left_out)));
  }
}

TEST(SelectTest, OnlySelectsSkippedButNotDisabledChecks) {
  Profile profile;
  profile.contexts["prolog"].run = {};
  EXPECT_THAT(select_checks(profile, {.context = "prolog", .only = {"host.swap"}}), SizeIs(1));
  profile.policies["host.swap"].enabled = false;
  EXPECT_THAT(select_checks(profile, {.context = "prolog", .only = {"host.swap"}}), IsEmpty());
}

TEST(SelectTest, ObservesTheNeededAndOptionalSections) {
  const auto needed = [](std::string only) {
    return probes_needed(select_checks(Profile{}, {.only = {std::move(only)}}));
  };
  EXPECT_EQ(needed("host.swap"), ProbeSet(Probe::memory));
  EXPECT_TRUE(needed("host.stuck_tasks").contains(Probe::kernel_log));
  // muster.probes alone needs all sections.
  EXPECT_EQ(needed("muster.probes"), ProbeSet::all());
  EXPECT_EQ(probes_needed({}), ProbeSet());
}

// A node whose kernel log and memory counters show the same memory error.
Snapshot with_a_memory_error() {
  Snapshot snapshot = node();
  snapshot.identity->uptime_s = 7200.0;
  snapshot.kernel = observed(
      Kernel{.edac = std::vector<EdacController>{
                 {.name = "mc2", .corrected = std::uint64_t{0}, .uncorrected = std::uint64_t{1}}}});
  snapshot.kernel_log = observed(
      KernelLog{.records = {{.time_us = 7'000'000'000, .level = 3, .text = "Memory failure: 0x1"}},
                .seen = 1});
  return snapshot;
}

Profile that_reads_the_log() {
  Profile profile;
  profile.host->kernel_log = {
      .coalesce = Seconds{5},
      .kinds = {{"memory_uncorrected", Outcome::fail}},
      .patterns = {{"^Memory failure: ", "memory_uncorrected", Remedy::reboot}}};
  return profile;
}

TEST(JudgeTest, LeavesTheLogsFaultToTheCheckThatFoundItInCounters) {
  const Report report = judge(with_a_memory_error(), that_reads_the_log(),
                              {.only = {"host.edac", "host.kernel_log"}});
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"host.edac", Outcome::fail},
                                         CheckResult{"host.kernel_log", Outcome::skip}));
  EXPECT_EQ(report.findings.back(),
            (Finding{.check = "host.kernel_log",
                     .device = "node",
                     .outcome = Outcome::skip,
                     .message = "the same fault as host.edac mc2: memory_uncorrected: once since "
                                "boot, 3 min ago: \"Memory failure: 0x1\"",
                     .observed = std::int64_t{1},
                     .limit = std::int64_t{0},
                     .unit = "incidents"}));
}

TEST(JudgeTest, KeepsTheLogsFaultIfTheCheckOfCountersDoesNotFail) {
  const Profile profile = that_reads_the_log();
  Snapshot clean = with_a_memory_error();
  clean.kernel->edac->front().uncorrected = std::uint64_t{0};
  EXPECT_EQ(judge(clean, profile, {.only = {"host.edac", "host.kernel_log"}}).verdict,
            Verdict::unhealthy);
  EXPECT_EQ(judge(with_a_memory_error(), profile, {.only = {"host.kernel_log"}}).verdict,
            Verdict::unhealthy);
  Profile lenient = profile;
  lenient.policies["host.edac"].fail_as = Outcome::warn;
  EXPECT_EQ(
      judge(with_a_memory_error(), lenient, {.only = {"host.edac", "host.kernel_log"}}).verdict,
      Verdict::unhealthy);
}

TEST(JudgeTest, PassesTheContextToChecksThatDependOnIt) {
  Snapshot snapshot = node();
  Gpu gpu;
  gpu.processes = std::vector<GpuProcess>{{.pid = 4242, .name = "python", .user = 1000U}};
  snapshot.nvml = observed(Nvml{.gpus = {gpu}});
  snapshot.environment = observed(Environment{});
  Profile profile;
  profile.contexts["boot"].gpus_idle = true;
  const std::vector<std::string> only{"gpu.processes"};
  EXPECT_EQ(judge(snapshot, profile, {.context = "boot", .only = only}).verdict,
            Verdict::unhealthy);
  EXPECT_EQ(judge(snapshot, profile, {.context = "manual", .only = only}).checks.front().outcome,
            Outcome::skip);
}

// Everything was observed: there is one NVIDIA GPU with its driver, and one HCA.
Snapshot whole_node() {
  Snapshot snapshot;
  for_each_section(snapshot, [](Probe /*probe*/, auto& section) {
    section.status = Status::ok;
    section.reason.clear();
  });
  snapshot.pci->devices = {
      {.address = "0001:00:00.0", .kind = PciKind::gpu, .vendor = 0x10de, .driver = "nvidia"},
      {.address = "0101:00:00.0", .kind = PciKind::hca, .vendor = 0x15b3, .driver = "mlx5_core"}};
  return snapshot;
}

template <class T>
void take_away(Section<T>& section, Status status = Status::absent) {
  section = {.status = status, .reason = "no such thing"};
}

Profile profile_that_asks_for(std::vector<std::string> groups) {
  Profile profile;
  profile.must_observe = std::move(groups);
  return profile;
}

// "GPUs!" where they are required.
std::vector<std::string> gaps(const Snapshot& snapshot, const Profile& profile,
                              const Selection& selection = {.only = {"*"}},
                              const Context& context = {}) {
  std::vector<std::string> names;
  for (const auto& gap :
       not_observed(snapshot, profile, context, select_checks(profile, selection))) {
    EXPECT_NE(gap.reason, "");
    names.push_back(gap.required ? gap.what + "!" : gap.what);
  }
  return names;
}

TEST(CoverageTest, SectionsInMustObserveAreRequired) {
  auto snapshot = whole_node();
  EXPECT_THAT(gaps(snapshot, profile_that_asks_for({"host", "pci", "gpu", "ib"})), IsEmpty());
  snapshot.pci->devices.clear();
  take_away(snapshot.nvml);
  take_away(snapshot.infiniband);
  take_away(snapshot.kernel_log);
  EXPECT_THAT(gaps(snapshot, profile_that_asks_for({"gpu"})), ElementsAre("GPUs!"));
  EXPECT_THAT(gaps(snapshot, profile_that_asks_for({"host", "ib"})),
              ElementsAre("kernel log!", "InfiniBand!"));
  EXPECT_THAT(gaps(snapshot, Profile{}), IsEmpty());
}

TEST(CoverageTest, HardwareOnTheBusIsRequiredUnderAnyProfile) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  take_away(snapshot.infiniband);
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("InfiniBand!", "GPUs!"));
  snapshot.pci->devices[0].driver.clear();
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("InfiniBand!", "GPUs!"));
}

TEST(CoverageTest, HardwareThatIsAnotherDriversIsNamedAndNotRequired) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  take_away(snapshot.infiniband);
  for (auto& device : snapshot.pci->devices) device.driver = "vfio-pci";
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("InfiniBand", "GPUs"));
  snapshot.pci->devices = {
      {.address = "0001:00:00.0", .kind = PciKind::gpu, .vendor = 0x1002, .driver = "amdgpu"}};
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("GPUs"));
  snapshot.infiniband = whole_node().infiniband;
  snapshot.pci->amd_gpus = {{.address = "0001:00:00.0"}};
  EXPECT_THAT(gaps(snapshot, Profile{}), IsEmpty());
}

TEST(CoverageTest, SectionsThatNoCheckNeedsOrThatDoNotCountAreOptional) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  const auto profile = profile_that_asks_for({"host", "gpu"});
  EXPECT_THAT(gaps(snapshot, profile, {.only = {"host.*"}}), IsEmpty());
  EXPECT_THAT(gaps(snapshot, profile, {.only = {"pci.*", "gpu.xid"}}), IsEmpty());
  EXPECT_THAT(gaps(snapshot, profile, {.only = {"gpu.mig"}}), ElementsAre("GPUs!"));
  EXPECT_THAT(gaps(snapshot, profile, {.only = {"*"}}, {.count_unknown = {"host.*", "ib.*"}}),
              ElementsAre("GPUs"));
}

TEST(CoverageTest, AProbeThatFailedIsAlwaysNamed) {
  auto snapshot = whole_node();
  take_away(snapshot.environment, Status::error);
  take_away(snapshot.cpu, Status::timeout);
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("processors", "environment"));
}

TEST(CoverageTest, AnNvmlThatCannotBeUsedObservesNoGpu) {
  auto snapshot = whole_node();
  snapshot.nvml->trouble = "driver not loaded";
  snapshot.nvml->trouble_code = 9;
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("GPUs!"));
  snapshot.pci->devices.clear();
  EXPECT_THAT(gaps(snapshot, Profile{}), IsEmpty());
  // A library that was given by path is required.
  snapshot.nvml->trouble = "/etc/hostname: file too short";
  snapshot.nvml->trouble_code = 12;
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("GPUs!"));
  Profile without_gpus;
  without_gpus.gpu->present.count = 0;
  EXPECT_THAT(gaps(snapshot, without_gpus), ElementsAre("GPUs"));
}

TEST(CoverageTest, AMissingRequiredSectionMakesTheVerdictUnknown) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  Profile profile = profile_that_asks_for({"gpu"});
  profile.name = "test";
  const Selection some{.only = {"muster.probes", "gpu.mig"}};
  const auto report = judge(snapshot, profile, some);
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_EQ(report.coverage.selected, 2);
  EXPECT_EQ(report.coverage.judged, 1);
  EXPECT_THAT(
      report.coverage.not_observed,
      ElementsAre(NotObserved{.what = "GPUs", .reason = "no such thing", .required = true}));
  EXPECT_EQ(judge(snapshot, profile, {.only = {"muster.probes"}}).verdict, Verdict::healthy);
}

}  // namespace
}  // namespace muster::run_test
