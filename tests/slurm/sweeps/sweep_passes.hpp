// SPDX-License-Identifier: Apache-2.0
// Passes over a cluster and a queue in memory; results are files, as jobs leave them.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/report/format.hpp"
#include "slurm/sweeps/sweep_pass.hpp"
#include "tests/slurm/fake_controller.hpp"
#include "tests/slurm/sweeps/sweeping.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::slurm {

class FakeQueue final : public Queue {
 public:
  Result<std::vector<QueuedJob>> jobs(const std::vector<std::string>& names) override {
    EXPECT_THAT(names, ::testing::ElementsAre("muster-sweep-pair", "muster-sweep-single",
                                              "muster-sweep-node", "muster-sweep-locate"));
    if (!trouble.empty()) return make_error(trouble);
    return queued;
  }

  Result<std::string> submit(const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& /*environment*/) override {
    submitted.push_back(arguments);
    constexpr std::string_view kComment = "--comment=";
    const auto comment = std::ranges::find_if(
        arguments, [&](const std::string& word) { return word.starts_with(kComment); });
    const auto job = fmt::format("{}", 100 + submitted.size());
    if (!refused.empty() && std::ranges::count(arguments, refused) > 0) return make_error(kRefusal);
    if (refusal.empty() || takes_it_late) {
      queued.push_back({.job = job,
                        .state = "PENDING",
                        .ended = std::nullopt,
                        .comment = comment->substr(kComment.size())});
    }
    if (!refusal.empty()) return make_error(refusal);
    return job;
  }

  std::vector<QueuedJob> queued;
  std::vector<std::vector<std::string>> submitted;
  std::string trouble, refusal;
  std::string refused;  // the word of a job that is
  static constexpr auto kRefusal =
      "sbatch ended with status 1: Batch job submission failed: Requested node configuration is "
      "not available";
  bool takes_it_late = false;
};

class SweepPassTest : public ::testing::Test {
 protected:
  SweepPassTest() {
    std::filesystem::create_directory(dir.path() / "results");
    rules.results = (dir.path() / "results").string();
    rules.kinds = {"pair"};
    rules.script = "/usr/share/muster/jobs/sweep.sbatch";
  }

  SweepResult pass(bool dry_run = false) {
    told.clear();
    return sweep({.rules = rules, .now = cluster.now(), .dry_run = dry_run}, hands());
  }

  SweepServices hands() {
    return {.controller = &controller,
            .queue = &queue,
            .history = &history,
            .token = [this] { return fmt::format("{}", ++tokens); },
            .tell =
                [this](const Event& event) {
                  told.push_back(fmt::format("{} {} {}: {}", event.kind, event.node, event.job,
                                             event.message));
                }};
  }

  [[nodiscard]] std::vector<std::string> remembered() const {
    std::vector<std::string> lines;
    const auto events = history.events({});
    for (const auto& event : events.value()) {
      lines.push_back(fmt::format("{} {}", event.kind, event.node));
    }
    return lines;
  }

  [[nodiscard]] std::vector<SweepOutcome> outcomes() const {
    std::vector<SweepOutcome> found;
    const auto runs = history.sweeps();
    for (const auto& run : runs.value()) found.push_back(run.outcome);
    return found;
  }

  static std::string report_of(Verdict verdict, std::string message) {
    Report report{.node = "whoever", .context = "manual", .verdict = verdict, .checks = {}};
    const auto outcome = verdict == Verdict::healthy ? Outcome::pass : Outcome::fail;
    report.checks.push_back({.id = "bench.min_busbw", .outcome = outcome});
    if (verdict == Verdict::unhealthy) {
      report.findings.push_back({.check = "bench.min_busbw",
                                 .device = "job",
                                 .outcome = outcome,
                                 .message = std::move(message)});
    }
    return to_json(report);
  }

  // What the job with this token leaves.
  void leave(std::string_view token, Verdict verdict, std::string message = "1 GB/s") const {
    dir.write(fmt::format("results/{}.json", token), report_of(verdict, std::move(message)));
    dir.write(fmt::format("results/{}.out", token), "the table\n");
  }

  [[nodiscard]] bool exists(std::string_view name) const {
    return std::filesystem::exists(dir.path() / "results" / name);
  }

  TempDir dir;
  FakeCluster cluster{4};
  FakeController controller{cluster};
  FakeQueue queue;
  History history = *History::open(dir.path() / "history.db");
  SweepRules rules;
  std::vector<std::string> told;
  int tokens = 0;
};

}  // namespace muster::slurm
