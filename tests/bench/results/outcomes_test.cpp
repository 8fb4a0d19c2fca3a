// SPDX-License-Identifier: Apache-2.0
#include "bench/results/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "bench/results/bandwidth.hpp"
#include "tests/bench/results/sample_rows.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

std::vector<Member> members() {
  std::vector<Member> all;
  all.reserve(16);
  for (int rank = 0; rank < 16; ++rank) {
    all.push_back({.rank = rank,
                   .host = rank < 8 ? "gpu-0007" : "gpu-0008",
                   .device_id = fmt::format("gpu{}", rank % 8)});
  }
  return all;
}

Wrong wrong_at(int rank, std::uint64_t element) {
  return {.rank = rank,
          .elements = 1,
          .first = element,
          .observed = std::bit_cast<std::uint32_t>(7.0F),
          .low = std::bit_cast<std::uint32_t>(8.0F),
          .high = std::bit_cast<std::uint32_t>(8.0F)};
}

std::vector<Row> two_sizes() {
  return {row_at(all_reduce_of(1024), 16, 1), row_at(all_reduce_of(8 << 20), 16, 50)};
}

TEST(DataTest, CorrectElementsPass) {
  EXPECT_THAT(judge_data(two_sizes(), members()),
              ElementsAre(make_finding("bench.data", "job", Outcome::pass,
                                       "every element is right in 4 results of 4")));
}

TEST(DataTest, NoResultsAreSkipped) {
  EXPECT_EQ(judge_data({}, members())[0].outcome, Outcome::skip);
}

TEST(DataTest, NamesAWrongElement) {
  auto rows = two_sizes();
  rows[1].in_place->wrong = {wrong_at(13, 1234)};
  EXPECT_THAT(judge_data(rows, members()),
              ElementsAre(Finding{
                  .check = "bench.data",
                  .device = "gpu-0008/gpu5",
                  .outcome = Outcome::fail,
                  .message = "rank 13 (gpu5 on gpu-0008): element 1234 is 7, expected 8, after "
                             "all_reduce of 8 MiB in place; 1 element is wrong there",
                  .observed = 7.0,
                  .limit = 8.0,
                  .remedy = Remedy::report_to_provider}));
}

TEST(DataTest, NamesTheAddressOfAGpu) {
  auto rows = two_sizes();
  rows[1].in_place->wrong = {wrong_at(13, 1234)};
  auto all = members();
  all[13].device_id = "gpu0";  // the only one that its process sees
  all[13].pci_address = "0006:00:00.0";
  const auto finding = judge_data(rows, all)[0];
  EXPECT_EQ(finding.device, "gpu-0008/gpu0 0006:00:00.0");
  EXPECT_THAT(finding.message, StartsWith("rank 13 (gpu0 0006:00:00.0 on gpu-0008): "));
}

TEST(DataTest, ARankHasOneFinding) {
  auto rows = two_sizes();
  rows[0].out_of_place->wrong = {wrong_at(3, 9), wrong_at(5, 9)};
  rows[1].out_of_place->wrong = {wrong_at(3, 9)};
  rows[1].out_of_place->wrong[0].elements = 2;
  const auto findings = judge_data(rows, members());
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(findings[0].message, EndsWith("; 1 element is wrong there; wrong in 2 results"));
  EXPECT_EQ(findings[1].device, "gpu-0007/gpu5");
}

TEST(DataTest, AWrongSumOnAllRanksHasOneFinding) {
  auto rows = two_sizes();
  for (int rank = 0; rank < 16; ++rank) rows[0].in_place->wrong.push_back(wrong_at(rank, 0));
  const auto findings = judge_data(rows, members());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].device, "job");
  EXPECT_THAT(findings[0].message, StartsWith("rank 0 (gpu0 on gpu-0007): element 0 is 7"));
  EXPECT_THAT(findings[0].message, EndsWith("; 15 other ranks have wrong elements too"));
}

TEST(DataTest, NamesTheRangeOfATolerance) {
  auto rows = two_sizes();
  rows[0].in_place->wrong = {wrong_at(0, 0)};
  rows[0].in_place->wrong[0].high = std::bit_cast<std::uint32_t>(8.5F);
  EXPECT_THAT(judge_data(rows, {})[0].message,
              StartsWith("rank 0: element 0 is 7, expected 8 to 8.5, after"));
}

TEST(CompletionTest, NamesTheMissingAndThePresentRanks) {
  struct Case {
    Trouble stop;
    std::string device;
    Outcome outcome;
    Remedy remedy;
    std::string message;
  };

  const std::vector<Case> cases{
      {{Trouble::Kind::absent, "the rendezvous", "", {5}, {0, 1, 2, 3, 4, 6}},
       "gpu-0007",
       Outcome::unknown,
       Remedy::fix_config,
       "the ranks could not meet: rank 5 (gpu5 on gpu-0007) did not reach the rendezvous; "
       "ranks 0-4,6 were there"},
      {{Trouble::Kind::absent,
        "rendezvous",
        "ranks 1-2 did not reach the rendezvous within 60 s; 1 of 3 came",
        {1, 2},
        {0}},
       "gpu-0007",
       Outcome::unknown,
       Remedy::fix_config,
       "the ranks could not meet: ranks 1-2 did not reach the rendezvous within 60 s; 1 of 3 "
       "came; rank 0 (gpu0 on gpu-0007) was there"},
      {{Trouble::Kind::lost, "all_reduce of 8 MiB", "its connection is closed", {9, 8}, {}},
       "gpu-0008",
       Outcome::fail,
       Remedy::restart_app,
       "ranks 8-9 were lost in all_reduce of 8 MiB: its connection is closed"},
      {{Trouble::Kind::late, "all_reduce of 8 MiB", "", {1, 9}, {0}},
       "job",
       Outcome::fail,
       Remedy::report_to_provider,
       "ranks 1,9 did not finish all_reduce of 8 MiB; rank 0 (gpu0 on gpu-0007) was there"},
      {{Trouble::Kind::given_up, {"start NCCL", Part::starting}, "NCCL: system error", {0}, {}},
       "gpu-0007",
       Outcome::unknown,
       Remedy::fix_config,
       "rank 0 (gpu0 on gpu-0007) gave up in start NCCL: NCCL: system error"},
      {{Trouble::Kind::given_up, "start of nccl", "gpu5: ECC error", {5}, {}, false, true},
       "gpu-0007",
       Outcome::fail,
       Remedy::report_to_provider,
       "rank 5 (gpu5 on gpu-0007) gave up in start of nccl: gpu5: ECC error"},
      {{Trouble::Kind::stopped, "all_reduce of 8 MiB", "ended by SIGTERM", {}, {}},
       "job",
       Outcome::unknown,
       Remedy::none,
       "ended by SIGTERM during all_reduce of 8 MiB"}};
  for (const auto& [stop, device, outcome, remedy, message] : cases) {
    EXPECT_EQ(judge_completion(stop, members()),
              make_finding("bench.completion", device, outcome, message, remedy));
  }
}

TEST(CompletionTest, GivingUpEarlyOrExplainedIsUnknownUnlessADeviceIsBroken) {
  struct Case {
    Phase phase;
    bool broken;
    bool explained;
    Outcome outcome;
  };

  const std::vector<Case> cases{
      {{"start of MPI", Part::meeting}, false, false, Outcome::unknown},
      {{"start of nccl", Part::starting}, false, false, Outcome::unknown},
      {{"start of nccl", Part::starting}, true, false, Outcome::fail},
      {{"reservation of memory", Part::starting}, false, false, Outcome::unknown},
      {{"reservation of memory", Part::starting}, true, false, Outcome::fail},
      {"all_reduce of 8 GiB", false, false, Outcome::fail},
      {"all_reduce of 8 GiB", false, true, Outcome::unknown},
      {"all_reduce of 8 GiB", true, true, Outcome::fail},
      {"start of something", false, false, Outcome::fail}};
  for (const auto& [phase, broken, explained, outcome] : cases) {
    const Trouble trouble{.kind = Trouble::Kind::given_up,
                          .phase = phase,
                          .ranks = {0},
                          .broken = broken,
                          .explained = explained};
    EXPECT_EQ(outcome_of(trouble), outcome) << phase.name;
  }
  const auto of = [](Trouble::Kind kind, Part part) {
    return outcome_of({.kind = kind, .phase = {"a phase", part}, .ranks = {0}});
  };
  EXPECT_EQ(of(Trouble::Kind::late, Part::starting), Outcome::fail);
  EXPECT_EQ(of(Trouble::Kind::absent, Part::meeting), Outcome::unknown);
  EXPECT_EQ(of(Trouble::Kind::lost, Part::meeting), Outcome::unknown);
  EXPECT_EQ(of(Trouble::Kind::late, Part::meeting), Outcome::unknown);
}

// Rank 1 reports, and does not know who else was there.
TEST(CompletionTest, ALostOrSilentRankZeroAccusesItsNode) {
  const std::vector<Member> members{{.rank = 0, .host = "n0", .device_id = "host"},
                                    {.rank = 1, .host = "n0"},
                                    {.rank = 2, .host = "n1"}};
  for (const auto kind : {Trouble::Kind::lost, Trouble::Kind::late}) {
    const auto finding =
        judge_completion({kind, "all_reduce", "", {0}, {1}, /*without_rank_0=*/true}, members);
    EXPECT_EQ(finding.device, "n0");
    EXPECT_THAT(finding.message, StartsWith("rank 0 on n0 "));
    EXPECT_THAT(finding.message, Not(HasSubstr("there")));
  }
  EXPECT_THAT(judge_completion({Trouble::Kind::lost, "x", "", {2}, {}}, members).message,
              StartsWith("rank 2 on n1 was lost"));
}

TEST(CompletionTest, UnknownRanksAreNumbers) {
  const auto finding = judge_completion({Trouble::Kind::absent, "the rendezvous", "", {5}, {}}, {});
  EXPECT_EQ(finding.device, "job");
  EXPECT_EQ(finding.message, "the ranks could not meet: rank 5 did not reach the rendezvous");
}

TEST(CompletionTest, CompletingIsAPass) {
  EXPECT_EQ(completed(16).message, "all 16 ranks completed");
  EXPECT_EQ(completed(1).message, "the only rank completed");
  EXPECT_EQ(completed(16).outcome, Outcome::pass);
}

TEST(RequiredTransportsTest, TheCommandLineOverridesTheProfile) {
  Profile profile;
  profile.bench->transport.require = {RequiredTransport::ib, RequiredTransport::gdr};
  EXPECT_THAT(required_transports({}, profile, true, 2), ElementsAre("ib", "gdr"));
  EXPECT_THAT(required_transports({"ib"}, profile, true, 2), ElementsAre("ib"));
  EXPECT_THAT(required_transports({"ib"}, profile, false, 1), ElementsAre("ib"));
  EXPECT_THAT(required_transports({}, profile, true, 1), IsEmpty());
  EXPECT_THAT(required_transports({}, profile, false, 2), IsEmpty());
}

TEST(TransportTest, IsJudgedByWhatIsRequired) {
  struct Case {
    std::vector<std::string> required;
    TransportFacts facts;
    Outcome outcome;
    std::string message;
  };

  const std::string used = "NET/IB with GPUDirect between nodes";
  const std::vector<Case> cases{
      {{}, {.known = true, .used = used}, Outcome::pass, used},
      {{"ib"}, {.known = true, .used = used}, Outcome::pass, used},
      {{}, {}, Outcome::skip, "the library does not log its transport"},
      {{"ib", "gdr"},
       {},
       Outcome::unknown,
       "the library does not log its transport; required: ib, gdr"},
      {{"ib"}, {.known = true}, Outcome::unknown, "the library's log does not name a transport"},
      {{"ib", "gdr"},
       {.known = true,
        .used = "NET/Socket between nodes",
        .missing = {{"ib", "no HCA is visible"}, {"gdr", ""}}},
       Outcome::fail,
       "ib was not used: no HCA is visible; gdr was not used; used: NET/Socket between nodes"},
      {{"ib", "gdr"},
       {.known = true,
        .used = "NET/Socket between nodes",
        .missing = {{"ib", "no HCA is visible"}, {"gdr", "no HCA is visible"}}},
       Outcome::fail,
       "ib and gdr were not used: no HCA is visible; used: NET/Socket between nodes"}};
  for (const auto& [required, facts, outcome, message] : cases) {
    const auto finding = judge_transport(required, facts);
    EXPECT_EQ(finding.outcome, outcome) << message;
    EXPECT_EQ(finding.message, message);
    EXPECT_EQ(finding.check, "bench.transport");
    EXPECT_EQ(finding.remedy, outcome == Outcome::fail ? Remedy::fix_config : Remedy::none);
  }
}

Finding of(std::string_view check, Outcome outcome) {
  return make_finding(check, "job", outcome, "m");
}

Report concluded(std::vector<Finding> findings) {
  Report report;
  report.findings = std::move(findings);
  conclude(report);
  return report;
}

TEST(DiagnosisTest, IsJudgedByWhatNcclCounts) {
  struct Case {
    std::vector<std::string> lines;
    Outcome outcome;
    const char* message;
  };

  const std::string head = "=== NCCL Diagnostics ===";
  const std::string end = "NCCL diagnostics completed in 245.3 ms across 8 ranks";
  for (const auto& each : {
           Case{{head, "[OK]   p2p: verified P2P access (56 peer accesses)", end},
                Outcome::pass,
                "NCCL: p2p: verified P2P access (56 peer accesses)"},
           Case{{head, "[OK]   other: fine",
                 "[INFO] p2p: only 52/56 GPU-to-GPU peer accesses passed verification",
                 "       GPU 3 to GPU 5 over NVLink", end},
                Outcome::fail,
                "NCCL: p2p: only 52/56 GPU-to-GPU peer accesses passed verification; GPU 3 to GPU "
                "5 over NVLink"},
           Case{{head, "[INFO] p2p: could not be completed", end},
                Outcome::warn,
                "NCCL: p2p: could not be completed"},
           Case{{head, "[INFO] p2p: 56/56 passed, and/or slowly", end},
                Outcome::warn,
                "NCCL: p2p: 56/56 passed, and/or slowly"},
           Case{{head, end}, Outcome::unknown, "NCCL printed no result of its test"},
           Case{{}, Outcome::unknown, "NCCL printed no result of its test"},
       }) {
    const auto finding = judge_diagnosis(each.lines);
    EXPECT_EQ(finding.check, "bench.diagnosis");
    EXPECT_EQ(finding.outcome, each.outcome) << each.message;
    EXPECT_EQ(finding.message, each.message);
  }
}

TEST(ConcludeTest, HasTheVerdictOfMusterCheck) {
  struct Case {
    std::vector<Outcome> outcomes;
    Verdict verdict;
  };

  for (const auto& [outcomes, verdict] :
       {Case{{Outcome::pass, Outcome::warn, Outcome::skip}, Verdict::healthy},
        Case{{Outcome::pass, Outcome::fail, Outcome::unknown}, Verdict::unhealthy},
        Case{{Outcome::pass, Outcome::unknown}, Verdict::unknown},
        Case{{Outcome::skip}, Verdict::unknown}, Case{{}, Verdict::unknown}}) {
    std::vector<Finding> findings(outcomes.size());
    std::ranges::transform(outcomes, findings.begin(),
                           [](Outcome each) { return of("bench.data", each); });
    EXPECT_EQ(concluded(findings).verdict, verdict);
  }
}

TEST(ConcludeTest, GivesAChecksWorstOutcome) {
  const auto report = concluded({of("bench.job_all_reduce", Outcome::skip),
                                 of("bench.data", Outcome::pass), of("bench.data", Outcome::fail)});
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"bench.data", Outcome::fail},
                                         CheckResult{"bench.job_all_reduce", Outcome::skip}));
  EXPECT_EQ(report.findings[0].outcome, Outcome::fail);
}

TEST(ConcludeTest, OnlyAFallBackExplainsALowBandwidth) {
  const auto low = of("bench.job_all_reduce", Outcome::fail);
  const auto report = concluded({low, of("bench.transport", Outcome::fail)});
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  ASSERT_THAT(report.findings, SizeIs(2));
  EXPECT_EQ(report.findings[0].check, "bench.transport");
  EXPECT_EQ(report.findings[1].outcome, Outcome::skip);
  EXPECT_EQ(report.findings[1].message, "m; see bench.transport");
  EXPECT_THAT(
      concluded({low, of("bench.transport", Outcome::unknown), of("bench.data", Outcome::fail)})
          .checks,
      testing::Contains(CheckResult{"bench.job_all_reduce", Outcome::fail}));
}

std::vector<PartResult> rails(const std::vector<double>& gbps) {
  std::vector<PartResult> parts;
  for (std::size_t rail = 0; rail < gbps.size(); ++rail) {
    parts.push_back({.name = fmt::format("rail{}", rail),
                     .ranks = {static_cast<int>(rail), static_cast<int>(rail + gbps.size())},
                     .rows = {row_at(all_reduce_of(kGibibyte), 2, gbps[rail])}});
  }
  return parts;
}

TEST(SplitResultsTest, ComparesPartsWithEachOtherAndWithMinBusbw) {
  struct Case {
    std::vector<double> gbps;
    Outcome outcome;
    std::string device, message;
    OwnLimit own = {};
  };
  const OwnLimit own{.min_busbw = BytesPerSecond{20e9}, .at = {}};
  for (const auto& [gbps, outcome, device, message, limit] :
       {Case{{23.4, 23.3, 23.5, 23.4},
             Outcome::pass,
             "job",
             "4 parts of 2 ranks or more: 23.30 to 23.50 GB/s at 1 GiB"},
        Case{{23.4, 23.3, 11.7, 23.4},
             Outcome::fail,
             "rail2",
             "11.70 GB/s for all_reduce of 1 GiB, 50.1% of the "},
        Case{{23.4, 23.4, 22.2, 23.4}, Outcome::warn, "rail2", "22.20 GB/s"},
        Case{{23.4, 11.7}, Outcome::unknown, "job", "2 parts are too few to compare"},
        Case{{23.4, 11.7}, Outcome::fail, "rail1", "below --min-busbw 20 GB/s", own},
        Case{{23.4, 21.7}, Outcome::pass, "job", "2 parts", own}}) {
    const auto findings = judge_split(rails(gbps), limit);
    ASSERT_THAT(findings, SizeIs(1)) << message;
    EXPECT_EQ(findings[0].outcome, outcome) << message;
    EXPECT_EQ(findings[0].device, device);
    EXPECT_THAT(findings[0].message, HasSubstr(message));
  }
}

TEST(SplitResultsTest, TheTableMarksTheOutlier) {
  const auto text = split_table(rails({23.4, 23.3, 11.7, 23.4}), {});
  EXPECT_THAT(text, HasSubstr("# rail2                            11.70          50.1%  <\n"));
  EXPECT_THAT(text, Not(HasSubstr("100.0%  <")));
}

}  // namespace
}  // namespace muster::bench
