// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "bench/locate/rounds.hpp"
#include "bench/run/bench_run.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/operations.hpp"
#include "bench/run/rank_backend.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::locate {

namespace {

constexpr int kUsualPerRepeat = 5;

// Expected while the job holds the GPUs.
constexpr std::string_view kInUse = "bench.in_use";

NodeTests tests_of(const Report& report) {
  NodeTests tests;
  for (const auto outcome : {Outcome::fail, Outcome::warn}) {
    for (const auto& finding : report.findings) {
      if (finding.outcome != outcome || finding.check == kInUse) continue;
      tests.wrong.push_back(
          fmt::format("{} {}: {}", finding.check, finding.device, finding.message));
    }
  }
  tests.passed =
      static_cast<std::size_t>(std::ranges::count_if(report.checks, [](const CheckResult& check) {
        return check.outcome == Outcome::pass && check.id != kInUse;
      }));
  if (!tests.wrong.empty() || tests.passed > 0) return tests;
  const auto why = std::ranges::find_if(
      report.findings, [](const Finding& finding) { return finding.check != kInUse; });
  tests.trouble = why == report.findings.end() ? "nothing was tested" : why->message;
  return tests;
}

// Aborts a back end that finishes no operation for `limit`. The process continues.
class OperationWatchdog {
 public:
  OperationWatchdog(Backend& backend, const Progress& progress, Clock::duration limit)
      : thread_([this, &backend, &progress, limit](const std::stop_token& stop) {
          auto finished = progress.finished.load();
          while (sleep_for(stop, limit)) {
            const auto before = std::exchange(finished, progress.finished.load());
            if (finished != before) continue;
            aborted_ = true;
            backend.abort();
            return;
          }
        }) {}

  [[nodiscard]] bool has_aborted() const { return aborted_; }

 private:
  std::atomic<bool> aborted_{false};
  std::jthread thread_;
};

// The samples of one repeat.
Batch samples_of(const std::vector<Samples>& all, int repeat, int per_repeat) {
  Batch some;
  for (const auto& each : all) {
    const auto first = each.seconds.begin() + static_cast<std::ptrdiff_t>(repeat) * per_repeat;
    some.samples.push_back({.rank = each.rank, .seconds = {first, first + per_repeat}});
  }
  return some;
}

// Runs the tests that `only` names on the node of this process. The job may hold the GPUs.
NodeTests test_inside(const RankContext& self, std::string_view only) {
  constexpr std::chrono::seconds kStartAndEnd{20};
  std::vector<std::string> words{"node",
                                 "--level=quick",
                                 "--even-if-busy",
                                 "--format=json",
                                 fmt::format("--only={}", only),
                                 fmt::format("--budget={}s", kInsideBudget.count())};
  hand_on(self.command, words);
  const auto report = run_own(words, self.variables, Clock::now() + kInsideBudget + kStartAndEnd);
  return report ? tests_of(*report) : NodeTests{.trouble = report.error().message};
}

}  // namespace

void add_evidence(const NodeTests& tests, Culprit& culprit) {
  constexpr std::size_t kMaxReasons = 3;
  auto& evidence = culprit.evidence;
  if (!tests.trouble.empty()) {
    evidence.push_back(fmt::format("not tested from within: {}", tests.trouble));
    return;
  }
  // Before the partners that the node is slow with.
  const auto shown = std::min(kMaxReasons, tests.wrong.size());
  for (std::size_t i = 0; i < shown; ++i) {
    evidence.insert(evidence.begin() + static_cast<std::ptrdiff_t>(i),
                    fmt::format("tested from within: {}", tests.wrong[i]));
  }
  if (tests.wrong.size() > shown) {
    evidence.push_back(fmt::format("tested from within: {} more", tests.wrong.size() - shown));
  }
  if (tests.wrong.empty()) {
    culprit.ruled_out.push_back(
        fmt::format("the parts that its own tests measure: {} passed", tests.passed));
  }
}

Result<Nodes> nodes_of(const Agreement& agreed) {
  std::vector<int> ranks(agreed.hosts.size());
  for (const auto& place : agreed.places) ++ranks.at(static_cast<std::size_t>(place.node));
  const auto [least, most] = std::ranges::minmax_element(ranks);
  if (*least != *most) {
    const auto name = [&](auto at) {
      return agreed.hosts[static_cast<std::size_t>(at - ranks.begin())];
    };
    return make_error("{} has {} ranks and {} has {}, expected as many on each node", name(least),
                      *least, name(most), *most);
  }
  Nodes nodes{.names = agreed.hosts, .devices = *most, .leaves = {}, .leaf_names = {}, .pods = {}};
  std::map<std::string, int> numbers;
  std::vector<int> domains;
  for (const auto& domain : agreed.domains) {
    const auto next = static_cast<int>(numbers.size());
    domains.push_back(domain.empty() ? kNoDomain : numbers.try_emplace(domain, next).first->second);
  }
  set_domains(nodes, std::move(domains));
  return nodes;
}

Job::Job(RankContext& self, const Operation& operation, const LocateCommand& command)
    : self_(self),
      operation_(operation),
      command_(command),
      per_repeat_(command.per_repeat.value_or(kUsualPerRepeat)),
      records_(self.membership.agreed.hosts.size()) {}

std::vector<int> Job::ranks_of(const NodeGroup& group) const {
  const auto& agreed = self_.membership.agreed;
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < agreed.places.size(); ++rank) {
    const auto& place = agreed.places[rank];
    const auto node = static_cast<Node>(place.node);
    const bool of_device = group.device == kAllDevices || group.device == place.local;
    if (of_device && std::ranges::find(group.nodes, node) != group.nodes.end()) {
      ranks.push_back(static_cast<int>(rank));
    }
  }
  return ranks;
}

std::vector<RankPart> Job::parts_of(const std::vector<NodeGroup>& groups) const {
  std::vector<RankPart> parts;
  std::vector<bool> taken(self_.membership.agreed.places.size());
  for (const auto& group : groups) {
    parts.push_back({.name = "", .ranks = ranks_of(group)});
    for (const int rank : parts.back().ranks) taken[static_cast<std::size_t>(rank)] = true;
  }
  for (std::size_t rank = 0; rank < taken.size(); ++rank) {
    if (!taken[rank]) parts.push_back({.name = "", .ranks = {static_cast<int>(rank)}});
  }
  return parts;
}

RankResult Job::failure(std::string_view why) const {
  return {.finished = false, .trouble = fmt::format("{}: {}", self_.name(), why)};
}

// An error is a result: the search is for nodes that cannot finish. It ends the search if a
// setting explains it.
Result<RankResult> Job::run_backend(Backend& backend, int repeats) {
  constexpr int kWarmUp = 2;
  const Pace pace{.warm_up = kWarmUp, .iterations = repeats * per_repeat_};
  progress_->reset();
  const OperationWatchdog watchdog(backend, *progress_,
                                   to_duration(self_.command.operation_deadline));
  auto batch = backend.reserve(operation_).and_then([&] {
    return verified_batch(backend, operation_, pace, *progress_);
  });
  if (batch) return RankResult{.batch = *std::move(batch)};
  const auto& error = batch.error();
  if (!error.broken && !explain_failure(self_, error).empty()) return tl::unexpected(error);
  return failure(watchdog.has_aborted() ? "did not finish an operation within its deadline"
                                        : error.message);
}

Result<std::vector<std::string>> Job::take(const JobStep& step) {
  if (step.kind == JobStep::Kind::test) return take_test(step);
  return step.kind == JobStep::Kind::account ? take_account(step) : take_measurement(step);
}

// The first rank of each of these nodes runs its tests.
Result<std::vector<std::string>> Job::take_test(const JobStep& step) {
  auto& group = *self_.membership.group;
  self_.enter("tests of nodes", 2 * kInsideBudget);
  std::string text;
  for (const auto& tested : step.groups) {
    if (ranks_of(tested).front() != group.rank()) continue;
    text = to_message(test_inside(self_, command_.tests(self_.kind)));
  }
  return group.gather(text);
}

Result<Backend*> Job::begin_operation(const JobStep& step) {
  const auto parts = parts_of(step.groups);
  const auto limit = to_duration(self_.command.operation_deadline);
  TRY_ASSIGN(self_.backend, make_part_backend(self_, parts, limit));
  self_.emergency.watch(self_.backend.get());
  if (!std::exchange(introduced_, true)) {
    TRY(introduce(self_, *self_.backend));
    // Rank 0 has waited for communicators that do not form. Without this barrier its partner would
    // wait for it forever.
    TRY(self_.membership.group->barrier());
  }
  // An aborted back end returns sooner, but other ranks may still wait for their communicator.
  self_.enter(describe(operation_), 2 * limit, counters_of(progress_));
  return self_.backend->ranks() > 1 ? self_.backend.get() : nullptr;
}

void Job::end_operation() {
  self_.emergency.watch(static_cast<Backend*>(nullptr));
  self_.backend.reset();
}

Result<std::vector<std::string>> Job::take_measurement(const JobStep& step) {
  TRY_ASSIGN(auto* const backend, begin_operation(step));
  RankResult result;
  if (backend != nullptr) {
    TRY_ASSIGN(result, run_backend(*backend, step.repeats));
  }
  end_operation();
  return self_.membership.group->gather(to_message(result));
}

// An error leaves the algorithm unknown.
Result<std::vector<std::string>> Job::take_account(const JobStep& step) {
  TRY_ASSIGN(auto* const backend, begin_operation(step));
  std::string algorithm;
  if (backend != nullptr && backend->reserve(operation_)) {
    progress_->reset();
    const OperationWatchdog watchdog(*backend, *progress_,
                                     to_duration(self_.command.operation_deadline));
    if (backend->account_for(operation_)) algorithm = logged_algorithm(operation_.collective);
  }
  end_operation();
  return self_.membership.group->gather(algorithm);
}

Result<void> Job::serve() {
  for (;;) {
    self_.enter("search", to_duration(self_.command.join_deadline));
    TRY_ASSIGN(const auto step, broadcast(*self_.membership.group, JobStep{}));
    if (step.kind == JobStep::Kind::end) return {};
    TRY(take(step));
  }
}

Result<void> Job::end() {
  self_.enter("search", to_duration(self_.command.join_deadline));
  TRY(broadcast(*self_.membership.group, JobStep{}));
  return {};
}

void Job::note_losses() {
  const auto losses = self_.membership.group->losses();
  const auto& places = self_.membership.agreed.places;
  for (; losses_ < losses.size(); ++losses_) {
    const auto& loss = losses[losses_];
    troubles_.push_back(loss.what);
    for (const int rank : loss.ranks) {
      records_[static_cast<std::size_t>(places[static_cast<std::size_t>(rank)].node)].loss =
          loss.what;
    }
  }
}

bool Job::is_dead(const NodeGroup& group) const {
  constexpr std::size_t kHungWith = 3;
  const auto has_loss = [this](Node node) { return !records_[node].loss.empty(); };
  if (std::ranges::any_of(group.nodes, has_loss)) return true;
  return group.nodes.size() > 1 && std::ranges::any_of(group.nodes, [this](Node node) {
           return !records_[node].finished && records_[node].hung_with.size() >= kHungWith;
         });
}

void Job::note_end(const NodeGroup& group, bool finished) {
  for (const auto node : group.nodes) {
    auto& record = records_[node];
    record.finished = record.finished || finished;
    if (finished) continue;
    for (const auto other : group.nodes) {
      const bool known = std::ranges::find(record.hung_with, other) != record.hung_with.end();
      if (other != node && !known) record.hung_with.push_back(other);
    }
  }
}

GroupRates Job::rates_of(const std::vector<int>& ranks, const std::vector<RankResult>& results,
                         int repeats) {
  GroupRates rates;
  Timing timing;
  std::vector<Samples> samples;
  for (const int rank : ranks) {
    const auto& own = results[static_cast<std::size_t>(rank)];
    rates.finished = rates.finished && own.finished;
    if (!own.trouble.empty()) troubles_.push_back(own.trouble);
    append(samples, own.batch.samples);
    for (auto wrong : own.batch.wrong) {
      wrong.rank = rank;
      timing.wrong.push_back(wrong);
    }
  }
  if (!rates.finished) return rates;
  const auto count = static_cast<int>(ranks.size());
  auto row = row_of(operation_, count);
  placement_of(row, operation_) = std::move(timing);
  received_.push_back(std::move(row));
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto one = timing_of(operation_, count, samples_of(samples, repeat, per_repeat_));
    if (one) rates.gbps.push_back(one->judged.bus / kGiga);
  }
  return rates;
}

Result<std::vector<std::string>> Job::order(const JobStep& step) {
  self_.enter("search", to_duration(self_.command.join_deadline));
  TRY(broadcast(*self_.membership.group, step));
  return take(step);
}

Result<std::string> Job::algorithm_among(const std::vector<Node>& nodes) {
  if (self_.kind != BackendKind::nccl) return std::string();
  TRY_ASSIGN(const auto names,
             order({.kind = JobStep::Kind::account, .groups = {{.nodes = nodes}}}));
  const auto known =
      std::ranges::find_if(names, [](const std::string& name) { return !name.empty(); });
  return known == names.end() ? std::string() : *known;
}

Result<std::vector<NodeTests>> Job::test(const std::vector<Node>& nodes) {
  JobStep step{.kind = JobStep::Kind::test};
  for (const auto node : nodes) step.groups.push_back({.nodes = {node}});
  TRY_ASSIGN(const auto texts, order(step));
  std::vector<NodeTests> tests;
  for (const auto& group : step.groups) {
    const int rank = ranks_of(group).front();
    const auto answer = from_message<NodeTests>(texts[static_cast<std::size_t>(rank)], rank);
    tests.push_back(answer ? *answer : NodeTests{.trouble = answer.error().message});
  }
  return tests;
}

Result<std::vector<GroupRates>> Job::measure(const std::vector<NodeGroup>& groups, int repeats) {
  std::vector<GroupRates> rates(groups.size(), GroupRates{.gbps = {}, .finished = false});
  JobStep step{.kind = JobStep::Kind::measure, .repeats = repeats};
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (is_dead(groups[i])) continue;
    step.groups.push_back(groups[i]);
    places.push_back(i);
  }
  if (places.empty()) return rates;
  TRY_ASSIGN(const auto texts, order(step));
  std::vector<RankResult> results;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    // A lost rank has none.
    TRY_ASSIGN(auto result, texts[rank].empty()
                                ? RankResult{.finished = false}
                                : from_message<RankResult>(texts[rank], static_cast<int>(rank)));
    results.push_back(std::move(result));
  }
  note_losses();
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto& own = rates[places[i]];
    own = rates_of(ranks_of(step.groups[i]), results, repeats);
    note_end(step.groups[i], own.finished);
  }
  return rates;
}

}  // namespace muster::bench::locate
