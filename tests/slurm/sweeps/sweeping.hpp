// SPDX-License-Identifier: Apache-2.0
// Short ways to write down the past runs of sweeps, and nodes, in tests.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "slurm/rules/sweep_kinds.hpp"
#include "slurm/sweeps/sweep_plan.hpp"

namespace muster::slurm {

inline constexpr Time kMonday{std::chrono::seconds(1'800'000'000)};

inline Time hour(int hours) { return kMonday + std::chrono::hours(hours); }

// "n1 n2 healthy" at that hour; or "n1 n2 n3 n4 healthy locate".
struct Past {
  int hours;
  std::string_view words;
};

// Two nodes are a pair, one is alone.
inline SweepRun run_of(const Past& past) {
  SweepRun run{.kind = "", .partition = "main", .nodes = {}, .token = "", .job = "4711"};
  for (const auto word : split_words(past.words)) run.nodes.emplace_back(word);
  const auto last = run.nodes.back();
  const auto kind = find_sweep_kind(last) == nullptr ? std::string() : last;
  if (!kind.empty()) run.nodes.pop_back();
  const auto outcome = run.nodes.back();
  run.nodes.pop_back();
  run.kind = !kind.empty() ? kind : run.nodes.size() == 1 ? "single" : "pair";
  run.token = fmt::format("{}-{}", run.kind, past.hours);
  run.ended = run.submitted = hour(past.hours);
  for (const auto each : {SweepOutcome::open, SweepOutcome::healthy, SweepOutcome::unhealthy,
                          SweepOutcome::undecided}) {
    if (outcome == to_string(each)) run.outcome = each;
  }
  return run;
}

inline std::vector<SweepRun> runs_of(const std::vector<Past>& past) {
  std::vector<SweepRun> runs;
  runs.reserve(past.size());
  for (const auto& each : past) runs.push_back(run_of(each));
  return runs;
}

// "n1 n2 n3:allocated": idle where nothing else is said.
inline std::vector<NodeState> nodes_of(std::string_view words) {
  std::vector<NodeState> nodes;
  for (const auto word : split_words(words)) {
    const auto parts = split(word, ':');
    auto& node = nodes.emplace_back();
    node.name = parts[0];
    node.state = parts.size() > 1 ? parts[1] : "idle";
    node.partitions = {"main"};
  }
  return nodes;
}

// "pair n1 n2".
inline std::vector<std::string> words_of(const std::vector<SweepJob>& jobs) {
  std::vector<std::string> words;
  words.reserve(jobs.size());
  for (const auto& job : jobs) {
    words.push_back(fmt::format("{} {}", job.kind, fmt::join(job.nodes, " ")));
  }
  return words;
}

}  // namespace muster::slurm
