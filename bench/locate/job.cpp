// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <utility>

#include "bench/group/bytes.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/operation_timer.hpp"
#include "bench/run/rank_backend.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::locate {
namespace {

constexpr int kWarmUp = 2;
const std::string kTooLong = "did not finish an operation within its deadline";
constexpr std::size_t kHungWith = 3;
constexpr unsigned kSmall = 4;  // bytes of a small number

// Aborts a back end once it has finished no operation for `limit`: the back end is given up, the
// process goes on. All must live longer.
class Patience {
 public:
  Patience(Backend& backend, const Progress& progress, Clock::duration limit)
      : thread_([this, &backend, &progress, limit](const std::stop_token& stop) {
          auto finished = progress.finished.load();
          while (sleep_for(stop, limit)) {
            const auto before = std::exchange(finished, progress.finished.load());
            if (finished != before) continue;
            over_ = true;
            backend.abort();
            return;
          }
        }) {}

  [[nodiscard]] bool is_over() const { return over_; }

 private:
  std::atomic<bool> over_{false};
  std::jthread thread_;
};

// The samples of the repeat with this index.
std::vector<Samples> samples_of(const std::vector<Samples>& all, int repeat, int per_repeat) {
  std::vector<Samples> some;
  for (const auto& each : all) {
    const auto first = each.seconds.begin() + static_cast<std::ptrdiff_t>(repeat) * per_repeat;
    some.push_back({.rank = each.rank, .seconds = {first, first + per_repeat}});
  }
  return some;
}

}  // namespace

Result<Nodes> nodes_of(const Agreement& agreed) {
  std::vector<int> ranks(agreed.hosts.size());
  for (const int node : agreed.nodes) ++ranks.at(static_cast<std::size_t>(node));
  const auto [least, most] = std::ranges::minmax_element(ranks);
  if (*least != *most) {
    const auto name = [&](auto at) {
      return agreed.hosts[static_cast<std::size_t>(at - ranks.begin())];
    };
    return make_error(fmt::format("{} has {} ranks and {} has {}: start as many on each node",
                                  name(least), *least, name(most), *most));
  }
  return Nodes{.names = agreed.hosts, .devices = *most, .leaves = {}, .leaf_names = {}, .pods = {}};
}

Job::Job(RankContext& self, const Operation& operation, const LocateCommand& command)
    : self_(self),
      operation_(operation),
      command_(command),
      records_(self.membership.agreed.hosts.size()) {}

std::string Job::to_text(const Task& task) {
  Writer writer;
  writer.number(static_cast<int>(task.kind), 1);
  writer.number(task.repeats, kSmall).number(task.groups.size(), kSmall);
  for (const auto& group : task.groups) {
    writer.ranks({group.nodes.begin(), group.nodes.end()}).number(group.device, kSmall);
  }
  return writer.take();
}

Result<Job::Task> Job::parse_task(std::string_view text) {
  Task task;
  std::uint32_t groups = 0;
  Reader reader(text);
  reader.number(task.kind, 1).number(task.repeats, kSmall).number(groups, kSmall);
  for (std::uint32_t i = 0; i < std::min<std::size_t>(groups, text.size()); ++i) {
    std::vector<int> members;
    std::uint32_t device = 0;
    reader.ranks(members).number(device, kSmall);
    auto& group = task.groups.emplace_back();
    group.nodes.assign(members.begin(), members.end());
    group.device = static_cast<int>(device);
  }
  if (!reader.complete()) return make_error("rank 0 asked for something that was not whole");
  return task;
}

std::string Job::to_text(const RankResult& result) {
  Writer writer;
  writer.number(result.finished ? 1 : 0, 1).text(result.trouble).text(to_message(result.batch));
  return writer.take();
}

Result<Job::RankResult> Job::parse_result(std::string_view text, int rank) {
  RankResult result;
  if (text.empty()) return RankResult{.finished = false, .trouble = {}, .batch = {}};  // it is lost
  std::string batch;
  Reader reader(text);
  reader.number(result.finished, 1).text(result.trouble).text(batch);
  if (!reader.complete()) {
    return make_error(fmt::format("the answer of rank {} was not whole", rank));
  }
  TRY(put(result.batch, from_message<Batch>(batch, rank)));
  return result;
}

std::vector<int> Job::ranks_of(const Group& group) const {
  const auto& agreed = self_.membership.agreed;
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < agreed.nodes.size(); ++rank) {
    const auto node = static_cast<Node>(agreed.nodes[rank]);
    const bool of_device = group.device == kAllDevices || group.device == agreed.local_ranks[rank];
    if (of_device && std::ranges::find(group.nodes, node) != group.nodes.end()) {
      ranks.push_back(static_cast<int>(rank));
    }
  }
  return ranks;
}

std::vector<RankPart> Job::parts_of(const std::vector<Group>& groups) const {
  std::vector<RankPart> parts;
  std::vector<bool> taken(self_.membership.agreed.nodes.size());
  for (const auto& group : groups) {
    parts.push_back({.name = "", .ranks = ranks_of(group)});
    for (const int rank : parts.back().ranks) taken[static_cast<std::size_t>(rank)] = true;
  }
  for (std::size_t rank = 0; rank < taken.size(); ++rank) {
    if (!taken[rank]) parts.push_back({.name = "", .ranks = {static_cast<int>(rank)}});
  }
  return parts;
}

Job::RankResult Job::failed(std::string_view why) const {
  return {.finished = false, .trouble = fmt::format("{}: {}", self_.name(), why), .batch = {}};
}

// An error is an answer here: a node that cannot finish is what is searched for.
Job::RankResult Job::run(Backend& backend, int repeats) {
  const Pace pace{.warm_up = kWarmUp, .iterations = repeats * command_.per_repeat};
  progress_->reset();
  const Patience patience(backend, *progress_, to_duration(self_.command.operation_deadline));
  auto batch = verified_batch(backend, operation_, pace, *progress_);
  if (!batch) return failed(patience.is_over() ? kTooLong : batch.error().message);
  return {.finished = true, .trouble = {}, .batch = *std::move(batch)};
}

Result<std::vector<std::string>> Job::take_part(const Task& task) {
  return task.kind == Task::Kind::test ? test_part(task) : measure_part(task);
}

// The first rank of each of these nodes starts its tests; the others wait.
Result<std::vector<std::string>> Job::test_part(const Task& task) {
  auto& group = *self_.membership.group;
  self_.enter("tests of nodes", 2 * kInsideBudget);
  std::string text;
  for (const auto& tested : task.groups) {
    const auto ranks = ranks_of(tested);
    if (ranks.front() == group.rank())
      text = locate::to_text(test_inside(self_, command_.tests(self_.kind)));
  }
  return group.gather(text);
}

Result<std::vector<std::string>> Job::measure_part(const Task& task) {
  auto& group = *self_.membership.group;
  const auto parts = parts_of(task.groups);
  const auto limit = to_duration(self_.command.operation_deadline);
  TRY(put(self_.backend, make_part_backend(self_, parts, limit)));
  self_.emergency.watch(self_.backend.get());
  if (!std::exchange(introduced_, true)) {
    auto done = introduce(self_, *self_.backend);
    // Rank 0 has waited for communicators that do not form. Its partner would wait for it in vain.
    if (done) done = group.barrier();
    if (!done) return tl::unexpected(done.error());
  }
  // A back end that can be aborted ends sooner. Others may still wait for their communicator.
  self_.enter(describe(operation_), 2 * limit, counters_of(progress_));
  RankResult result;
  if (self_.backend->ranks() > 1) {
    const auto reserved = self_.backend->reserve(operation_);
    result = reserved ? run(*self_.backend, task.repeats) : failed(reserved.error().message);
  }
  self_.emergency.watch(static_cast<Backend*>(nullptr));
  self_.backend.reset();
  return group.gather(to_text(result));
}

Result<void> Job::serve() {
  for (;;) {
    self_.enter("search", to_duration(self_.command.join_deadline));
    TRY_ASSIGN(const auto text, self_.membership.group->broadcast(""));
    TRY_ASSIGN(const auto task, parse_task(text));
    if (task.kind == Task::Kind::end) return {};
    if (const auto done = take_part(task); !done) return tl::unexpected(done.error());
  }
}

Result<void> Job::end() {
  self_.enter("search", to_duration(self_.command.join_deadline));
  const auto sent = self_.membership.group->broadcast(to_text(Task{}));
  return sent ? Result<void>() : tl::unexpected(sent.error());
}

void Job::note_losses() {
  const auto losses = self_.membership.group->losses();
  const auto& nodes = self_.membership.agreed.nodes;
  for (; losses_ < losses.size(); ++losses_) {
    const auto& loss = losses[losses_];
    troubles_.push_back(loss.what);
    for (const int rank : loss.ranks) {
      records_[static_cast<std::size_t>(nodes[static_cast<std::size_t>(rank)])].loss = loss.what;
    }
  }
}

bool Job::is_dead(const Group& group) const {
  const auto has_loss = [this](Node node) { return !records_[node].loss.empty(); };
  if (std::ranges::any_of(group.nodes, has_loss)) return true;
  return group.nodes.size() > 1 && std::ranges::any_of(group.nodes, [this](Node node) {
           return !records_[node].finished && records_[node].hung_with.size() >= kHungWith;
         });
}

void Job::note_end(const Group& group, bool finished) {
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

Answer Job::answer_of(const std::vector<int>& ranks, const std::vector<RankResult>& results,
                      int repeats) {
  Answer answer;
  Timing timing;
  std::vector<Samples> samples;
  for (const int rank : ranks) {
    const auto& own = results[static_cast<std::size_t>(rank)];
    answer.finished = answer.finished && own.finished;
    if (!own.trouble.empty()) troubles_.push_back(own.trouble);
    std::ranges::copy(own.batch.samples, std::back_inserter(samples));
    for (auto wrong : own.batch.wrong) {
      wrong.rank = rank;
      timing.wrong.push_back(wrong);
    }
  }
  const auto count = static_cast<int>(ranks.size());
  if (!answer.finished) return answer;
  timing.checked = true;
  auto row = row_of(operation_, count);
  placement_of(row, operation_) = std::move(timing);
  received_.push_back(std::move(row));
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto one = timing_of(operation_, count, samples_of(samples, repeat, command_.per_repeat));
    if (one) answer.gbps.push_back(one->judged.bus / kGiga);
  }
  return answer;
}

Result<std::vector<std::string>> Job::order(const Task& task) {
  self_.enter("search", to_duration(self_.command.join_deadline));
  if (auto sent = self_.membership.group->broadcast(to_text(task)); !sent) {
    return tl::unexpected(sent.error());
  }
  return take_part(task);
}

Result<std::vector<Inside>> Job::test(const std::vector<Node>& nodes) {
  Task task{.kind = Task::Kind::test, .repeats = 0, .groups = {}};
  for (const auto node : nodes) task.groups.push_back({.nodes = {node}});
  TRY_ASSIGN(const auto texts, order(task));
  std::vector<Inside> said;
  for (const auto& group : task.groups) {
    said.push_back(inside_in(texts[static_cast<std::size_t>(ranks_of(group).front())]));
  }
  return said;
}

Result<std::vector<Answer>> Job::measure(const std::vector<Group>& groups, int repeats) {
  std::vector<Answer> answers(groups.size(), Answer{.gbps = {}, .finished = false});
  Task task{.kind = Task::Kind::measure, .repeats = repeats, .groups = {}};
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (is_dead(groups[i])) continue;
    task.groups.push_back(groups[i]);
    of.push_back(i);
  }
  if (of.empty()) return answers;
  TRY_ASSIGN(const auto texts, order(task));
  std::vector<RankResult> results;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    TRY_ASSIGN(auto one, parse_result(texts[rank], static_cast<int>(rank)));
    results.push_back(std::move(one));
  }
  note_losses();
  for (std::size_t i = 0; i < of.size(); ++i) {
    auto& answer = answers[of[i]];
    answer = answer_of(ranks_of(task.groups[i]), results, repeats);
    note_end(task.groups[i], answer.finished);
  }
  return answers;
}

}  // namespace muster::bench::locate
