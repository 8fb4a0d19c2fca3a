// SPDX-License-Identifier: Apache-2.0
// Output: its formats and destinations.

#include "lib/base/text.hpp"
#include "tests/e2e/bench/job.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

Words two_ranks(const Words& more) {
  return with(muster_bench({"all_reduce", kAnyBandwidth, "--sizes=8,64KiB", "--iterations=5",
                            "--profile=generic", "--backend=tcp", "--local=2"}),
              more);
}

// One launch: a table for each collective that can run here, and one report.
TEST(SeveralCollectives, AreMeasuredInOneLaunch) {
  Job job;
  const auto words = [](const char* form) {
    return muster_bench({"all", "--type=f32,i32", "--op=sum,max", "--sizes=1KiB", "--iterations=3",
                         "--profile=generic", "--backend=tcp", "--local=3", form});
  };
  const auto table = job.run(words("--format=text"));
  EXPECT_THAT(table.status, AnyOf(0, 2)) << table.err;  // a trial, unless here is a GPU or an HCA
  for (const auto* name : {"all_reduce", "alltoall", "scatter", "barrier"}) {
    EXPECT_THAT(table.out, HasSubstr(std::string("# muster-bench ") + name + ","));
  }
  EXPECT_THAT(table.err, HasSubstr("pingpong needs an even number of ranks"));
  const auto report = job.run(words("--format=json")).report();
  std::map<std::string, int> measured;
  for (const auto& each : report["measurements"]) {
    ++measured[each["conditions"]["collective"].get<std::string>()];
    EXPECT_EQ(each.value("wrong_elements", nlohmann::json()), 0) << each.dump();
  }
  EXPECT_EQ(measured["all_reduce"], 8);  // types, reductions, in place and out of place
  EXPECT_EQ(measured["all_gather"], 4);
  EXPECT_EQ(measured["barrier"], 1);
  EXPECT_EQ(measured.size(), 11U);
}

TEST(OutputTest, WithoutALimitItIsATrialOrTheLastLineGivesTheReason) {
  Job job;
  const auto run = [&](const std::vector<std::string>& more) {
    return job.run(with(muster_bench({"all_reduce", "--sizes=1KiB", "--iterations=3",
                                      "--backend=tcp", "--local=2", "--profile=generic"}),
                        more));
  };
  const auto json = run({"--format=json"});
  const auto report = json.report();
  const bool judged = report["judged"];
  EXPECT_EQ(report["verdict"], "unknown");
  EXPECT_EQ(report["accused"].size(), 0U);
  EXPECT_EQ(json.status, judged ? 2 : 0);
  EXPECT_EQ(json.err.find("could not decide (status 2)") != std::string::npos, judged);
  const auto table = run({});
  EXPECT_EQ(table.status, json.status);
  EXPECT_THAT(table.out,
              HasSubstr(judged ? "\n# could not decide (status 2): bench.node_all_reduce"
                               : "\n# verdict  not judged: no limit for this machine, pass "
                                 "--min-busbw\n"));
  EXPECT_EQ(run({"--min-busbw=1kB/s"}).status, 0);
  EXPECT_EQ(run({"--min-busbw=1000TB/s"}).status, 1);
  EXPECT_EQ(run({"--require-transport=ib"}).status, 2);
}

// Nodes of one rack share an NVLink domain, whose limit holds; between racks it is InfiniBand's.
TEST(RackTest, IsJudgedByTheLimitOfItsNvlinkDomain) {
  Job job;
  struct Case {
    const char* sim;
    int status;
    const char* limit;
  };
  for (const auto& [sim, status, limit] :
       {Case{"nodes=16", 0, "over NVLink"}, Case{"nodes=16,fault=ib_fallback", 1, "over NVLink"},
        Case{"nodes=32", 0, "over InfiniBand"}, Case{"nodes=2,domain=1", 0, "over InfiniBand"}}) {
    const auto end =
        job.run(muster_bench({"all_reduce", "--backend=sim", std::string("--sim=") + sim,
                              "--profile=nd128isr_gb300_v6", "--sizes=16GiB"}));
    EXPECT_EQ(end.status, status) << sim << end.out << end.err;
    EXPECT_THAT(end.out, HasSubstr(limit)) << sim;
  }
}

// In `all`, collectives without a limit are not judged; a named one is.
TEST(SeveralCollectives, WithoutALimitAreUnknownIfTheyWereNamed) {
  Job job;
  const auto run = [&](const std::string& collectives) {
    return job.run(muster_bench({collectives, "--backend=sim", "--sim=nodes=2",
                                 "--profile=nd96asr_v4", "--sizes=8GiB", "--format=json"}));
  };
  const auto all = run("all");
  EXPECT_EQ(all.status, 0) << all.out << all.err;
  EXPECT_EQ(outcome_of(all.report(), "bench.min_busbw"), "skip");
  EXPECT_EQ(outcome_of(all.report(), "bench.job_all_reduce"), "pass");
  const auto named = run("all_reduce,broadcast");
  EXPECT_EQ(named.status, 2) << named.out << named.err;
  EXPECT_EQ(outcome_of(named.report(), "bench.min_busbw"), "unknown");
  EXPECT_EQ(run("broadcast,reduce").status, 2);
}

TEST(OutputTest, EachFormatGoesToTheFile) {
  for (const auto& [name, begins] :
       {std::pair{"text", "# muster-bench all_reduce"}, std::pair{"json", "{\n"},
        std::pair{"prometheus", "# HELP"}, std::pair{"junit", "<?xml"}}) {
    Job job;
    const auto file = job.folder() / "report";
    const auto end = job.run(two_ranks({"--format", name, "--output", file.string()}));
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out, "");
    EXPECT_EQ(end.err, "");
    EXPECT_THAT(content_of(file), StartsWith(begins));
  }
}

TEST(OutputTest, AFileThatCannotBeWrittenIsUndecidedWithItsCause) {
  Job job;
  const auto file = (job.folder() / "no" / "such" / "folder" / "report.json").string();
  const auto split = muster_bench({"all_reduce", "--sizes=8", "--backend=sim", "--sim=nodes=2",
                                   "--split=node", "--profile=generic", "--output", file});
  for (const auto& words : {two_ranks({"--format=json", "--output", file}), split}) {
    const auto end = job.run(words);
    EXPECT_EQ(end.status, 2);
    EXPECT_EQ(end.out, "") << "nothing is measured";
    EXPECT_THAT(end.err, HasSubstr(file));
    EXPECT_THAT(end.err, HasSubstr("No such file or directory"));
  }
}

TEST(OutputTest, AFullDeviceIsUndecidedWithItsCause) {
  Job job;
  const auto end = job.run(two_ranks({"--format=json", "--output=/dev/full"}));
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("No space left on device"));
}

TEST(OutputTest, EachIterationIsInTheJsonReportIfRequested) {
  Job job;
  const auto plain = job.run(two_ranks({"--format=json"})).report();
  const auto each = job.run(two_ranks({"--format=json", "--each-iteration"})).report();
  EXPECT_FALSE(plain["measurements"][0].contains("iterations_us"));
  EXPECT_EQ(each["measurements"][0]["iterations_us"].size(), 5U);
}

TEST(OutputTest, CpuTimeIsInTheTableAndTheJsonReportIfRequested) {
  Job job;
  const auto table = job.run(two_ranks({"--cpu-time"})).out;
  EXPECT_THAT(table, HasSubstr("  cputime   algbw   busbw"));
  const auto report = job.run(two_ranks({"--cpu-time", "--format=json"})).report();
  const auto& measurements = report["measurements"];
  ASSERT_EQ(measurements.size(), 8U);  // two sizes and two placements
  EXPECT_EQ(measurements[3]["quantity"], "cpu_time");
  EXPECT_GT(measurements[3]["value"], 0);
}

TEST(OutputTest, VerbosePrintsTheRecognisedHardware) {
  Job job;
  const auto end = job.run(two_ranks({"-v"}));
  EXPECT_THAT(end.out, HasSubstr("# --local: this process becomes ranks 0 to 1 of 2\n"));
  EXPECT_THAT(end.out, HasSubstr("# pass     bench.data"));
}

TEST(OutputTest, RemarksOnAMissingSecret) {
  constexpr const char* kWithout = "# without a job secret, ranks are not authenticated";
  for (const bool secret : {false, true}) {
    Job job;
    const int port = free_port();
    for (int rank = 0; rank < 2; ++rank) {
      auto variables = torchrun(rank, 2, port, 2);
      if (secret) variables["MUSTER_JOB_SECRET"] = "hush-hush-hush";
      job.start(muster_bench({"all_reduce", "--sizes=8", "--profile=generic", "--backend=tcp",
                              kAnyBandwidth}),
                variables);
    }
    const auto first = job.end_of(0);
    EXPECT_EQ(first.status, 0) << first.err;
    EXPECT_EQ(first.out.find(kWithout) == std::string::npos, secret) << first.out;
    EXPECT_EQ(job.end_of(1).status, 0);
  }
}

TEST(OutputTest, PrintsNoSecret) {
  Job job;
  const auto end =
      job.run(two_ranks({"-v", "--format=json", "--each-iteration"}),
              {{"MUSTER_JOB_SECRET", "hush-hush-hush"}, {"AZURE_CLIENT_SECRET", "very-much-hush"}});
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(end.out + end.err, Not(HasSubstr("hush")));
}

TEST(OutputCycles, EachHasItsRows) {
  const auto count = [](const Words& more) {
    Job job;
    const auto end = job.run(with(two_ranks(more), {"--format=json"}));
    EXPECT_EQ(end.status, 0) << end.err;
    return end.report()["measurements"].size();
  };
  EXPECT_EQ(count({"--cycles=3"}), 3 * 4U);  // 2 sizes and 2 placements
  EXPECT_GT(count({"--soak=2s"}), 4U);
}

}  // namespace
}  // namespace muster::e2e
