// SPDX-License-Identifier: Apache-2.0
// The middle of a run: the ranks agree on the operations, and run them size by size.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/backends/nccl/transport.hpp"
#include "bench/collectives/pattern.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/run/operations.hpp"
#include "bench/run/rank_backend.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

// Rank 0 decides, since the nodes may differ, and its limits name the sizes.
Result<std::vector<std::uint64_t>> agree_on_sizes(RankContext& self, const BenchCommand& command,
                                                  const Backend& backend, int ranks) {
  auto& group = *self.membership.group;
  TRY_ASSIGN(const auto free, gather(group, backend.memory_free()));
  const auto& record = self.reporter.record();
  auto facts = facts_of(record);
  facts.ranks = ranks;
  const auto sizes = sizes_of(command, record.choice.profile, facts, least_memory(free));
  if (self.leads() && !sizes.remark.empty()) self.reporter.remark(sizes.remark);
  return broadcast(group, sizes.bytes);
}

// `refusal`: why this rank cannot run; empty if it can. Rank 0 prints the first refusal, or why the
// report could not be written. Returns the exit status of a run that cannot start, else
// kExitHealthy.
Result<int> agree_to_start(RankContext& self, const std::string& refusal) {
  auto& group = *self.membership.group;
  TRY_ASSIGN(const auto refusals, gather(group, refusal));
  int status = kExitHealthy;
  if (self.leads()) {
    const auto first =
        std::ranges::find_if(refusals, [](const auto& each) { return !each.empty(); });
    if (first != refusals.end()) {
      status = kExitUsage;
      const auto rank = first - refusals.begin();
      self.say(rank == 0 ? *first : fmt::format("rank {}: {}", rank, *first));
    } else if (const auto can = self.reporter.can_conclude(); !can) {
      status = kExitUndecided;
      self.say(can.error().message);
    }
  }
  return broadcast(group, status);
}

// Refuses options without an effect on the back end that was picked.
std::string refuse_unused(const RankContext& self) {
  const auto& command = self.command;
  if (self.kind == BackendKind::nccl || !(command.registered || command.diagnose)) return "";
  return fmt::format("{} requires --backend nccl, and this run uses {}",
                     command.registered ? "--registered" : "--diagnose", to_string(self.kind));
}

class Measuring {
 public:
  Measuring(RankContext& self, const BenchCommand& command)
      : self_(self),
        command_(command),
        group_(*self.membership.group),
        backend_(*self.backend),
        timer_(group_, backend_, command, shared()) {}

  [[nodiscard]] Result<int> prepare() {
    TRY_ASSIGN(sizes_, agree_on_sizes(self_, command_, backend_, backend_.ranks()));
    std::string refusal = refuse_unused(self_);
    std::vector<std::string> left_out;
    for (const auto& variant : variants_of(command_)) {
      auto operations = operations_of(variant, sizes_, backend_);
      if (operations) {
        largest_.push_back(*std::move(operations));
      } else if (largest_.empty()) {
        refusal = operations.error().message;
        break;
      } else {
        left_out.push_back(fmt::format("not run: {}", operations.error().message));
      }
    }
    TRY_ASSIGN(const auto status, agree_to_start(self_, refusal));
    for (const auto& each : left_out) {
      if (self_.leads()) self_.reporter.remark(each);
    }
    return status;
  }

  [[nodiscard]] Result<void> run() {
    self_.enter({"reservation of memory", Part::starting},
                to_duration(command_.operation_deadline));
    // The first placement needs the most memory.
    for (const auto& operations : largest_) TRY(backend_.reserve(operations.front()));
    for (auto& remark : backend_.remarks()) self_.place.evidence.push_back(std::move(remark));
    if (self_.leads()) {
      self_.reporter.begin_table(command_, sizes_, self_.place.evidence, self_.settings);
    }
    const auto begin = Clock::now();
    for (int cycles = 1;; ++cycles) {
      TRY(run_sizes());
      TRY_ASSIGN(const auto more, needs_cycle(cycles, begin));
      if (!more) break;
    }
    TRY(gather_transport());
    return repeat();
  }

 private:
  [[nodiscard]] Result<void> run_sizes() {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const auto begin = Clock::now();
      ends_ = begin + time_left(i);
      TRY(run_size(sizes_[i]));
      last_ = Clock::now() - begin;
    }
    ends_ = {};
    return {};
  }

  // Rank 0 decides for all.
  [[nodiscard]] Result<bool> needs_cycle(int done, Clock::time_point begin) {
    if (command_.cycles == 1 && !command_.soak) return false;
    const auto time = to_duration(command_.soak.value_or(Seconds{0}));
    const bool more = done < command_.cycles || Clock::now() - begin < time;
    return broadcast(group_, more ? 1 : 0).map([](int word) { return word != 0; });
  }

  // Estimates the time for the sizes from `next` on by the one before; zero if it is unknown.
  [[nodiscard]] Clock::duration time_left(std::size_t next) const {
    // The time of smaller operations does not depend on their size.
    constexpr std::uint64_t kProportional = 1ULL << 20U;
    if (next == 0 || sizes_[next - 1] < kProportional) return {};
    double bytes = 0;
    for (std::size_t i = next; i < sizes_.size(); ++i) bytes += static_cast<double>(sizes_[i]);
    return std::chrono::duration_cast<Clock::duration>(
        last_ * (bytes / static_cast<double>(sizes_[next - 1])));
  }

  // The number of consecutive iterations that share one mean.
  [[nodiscard]] std::size_t shared() const {
    const bool means = command_.pipelined && self_.kind != BackendKind::nccl;
    return means ? static_cast<std::size_t>(command_.iterations) : 1;
  }

  // Adds a row for each variant of the command, or for the judged one.
  [[nodiscard]] Result<void> run_size(std::uint64_t size, bool judged_only = false) {
    for (auto operations : largest_) {
      for (auto& operation : operations) operation.bytes = size;
      Row row = row_of(operations.front(), backend_.ranks());
      for (const auto& operation : operations) TRY(time_into(operation, row));
      if (self_.leads()) self_.reporter.add(std::move(row));
      if (judged_only) break;
    }
    return {};
  }

  [[nodiscard]] Result<void> time_into(const Operation& operation, Row& row) {
    self_.phase.set(describe(operation));
    TRY_ASSIGN(auto measured, run_shown(operation));
    if (!self_.leads()) return {};
    if (measured.cut_short) {
      self_.reporter.remark(fmt::format("{}: --precision was not reached with {} iterations",
                                        describe(operation),
                                        measured.batch.samples.front().seconds.size()));
    }
    TRY_ASSIGN(placement_of(row, operation),
               timing_of(operation, backend_.ranks(), measured.batch, shared()));
    return {};
  }

  // On a terminal, a line shows the progress every second.
  [[nodiscard]] Result<Measured> run_shown(const Operation& operation) {
    if (!self_.leads() || !self_.reporter.shows_progress()) return timer_.run(operation);
    const auto all = static_cast<std::uint64_t>(command_.warm_up) +
                     static_cast<std::uint64_t>(command_.iterations);
    const Ticker ticker(
        [&](Clock::duration since) {
          return progress_line({.what = describe(operation),
                                .left = left_in_words(ends_ - Clock::now()),
                                .done = timer_.progress()->finished.load(),
                                .all = all,
                                .since = since,
                                .awaited = group_.awaited()});
        },
        [this](std::string_view line) { self_.reporter.progress(line); });
    return timer_.run(operation);
  }

  // Runs once more so that the library logs its transports.
  [[nodiscard]] Result<void> gather_transport() {
    self_.enter("the run that logs the transport", to_duration(command_.operation_deadline));
    TRY(backend_.account_for(largest_.front().front()));
    auto log = shorten_log(backend_.log());
    if (self_.kind == BackendKind::nccl) log += access_lines(log, observe_access());
    TRY_ASSIGN(const auto logs, group_.gather(log));
    if (!self_.leads()) return {};
    const auto& record = self_.reporter.record();
    const auto required =
        required_transports(command_.require_transport, record.choice.profile, record.facts.gpus,
                            static_cast<int>(record.hosts.size()));
    self_.reporter.add(transport_report(logs, record.members, required, command_.collective));
    return {};
  }

  // Measures a value near its limit or below twice more, over new connections, which differ more
  // than repeats over the same ones. The median of all is judged.
  [[nodiscard]] Result<void> repeat() {
    const auto wanted = self_.leads() ? self_.reporter.to_repeat(command_) : std::nullopt;
    TRY_ASSIGN(const auto size, broadcast(group_, wanted ? wanted->bytes : std::uint64_t{0}));
    if (size == 0) return {};
    for (int round = 0; round < kRepeats; ++round) {
      TRY_ASSIGN(const auto renewed, backend_.renew());
      if (renewed) timer_.reconnect();
      if (self_.leads() && round == 0) {
        self_.reporter.remark(fmt::format("near or below the limit: measuring twice more{}",
                                          renewed ? " with new communicators" : ""));
      }
      TRY(run_size(size, true));
    }
    return {};
  }

  RankContext& self_;
  const BenchCommand& command_;
  Group& group_;
  Backend& backend_;
  OperationTimer timer_;
  std::vector<std::uint64_t> sizes_;
  // The placements of the largest size, for each variant; the judged one first.
  std::vector<std::vector<Operation>> largest_;
  Clock::duration last_{};  // the time of the previous size
  Clock::time_point ends_;  // see time_left()
};

class SplitMeasuring {
 public:
  explicit SplitMeasuring(RankContext& self)
      : self_(self), group_(*self.membership.group), parts_(self.parts), own_(self.part_backends) {}

  [[nodiscard]] Result<int> prepare() {
    std::size_t most = 0;
    for (const auto& part : parts_) most = std::max(most, part.ranks.size());
    TRY_ASSIGN(sizes_,
               agree_on_sizes(self_, self_.command, *own_.front().backend, static_cast<int>(most)));
    std::string refusal = refuse_unused(self_);
    for (const auto& [part, backend] : own_) {
      auto operations = operations_of(self_.command, sizes_, *backend);
      if (operations) {
        largest_ = *std::move(operations);
      } else if (refusal.empty()) {
        refusal = fmt::format("{}: {}", parts_[part].name, operations.error().message);
      }
    }
    return agree_to_start(self_, refusal);
  }

  [[nodiscard]] Result<void> run() {
    self_.enter({"reservation of memory", Part::starting},
                to_duration(self_.command.operation_deadline));
    for (const auto& each : own_) TRY(each.backend->reserve(largest_.front()));
    if (self_.leads()) {
      self_.reporter.begin_table(self_.command, sizes_, self_.place.evidence, self_.settings);
      self_.reporter.begin_parts(parts_);
    }
    for (const auto size : sizes_) TRY(run_size(size));
    return {};
  }

 private:
  [[nodiscard]] Result<void> run_size(std::uint64_t size) {
    // The parts that measure at the same time, turn by turn.
    std::vector<std::vector<std::size_t>> turns(1, std::vector<std::size_t>(parts_.size()));
    std::iota(turns.front().begin(), turns.front().end(), 0);
    if (self_.command.split_order == SplitOrder::in_turn) {
      turns.clear();
      for (std::size_t part = 0; part < parts_.size(); ++part) turns.push_back({part});
    }
    std::vector<Row> rows;
    for (auto operation : largest_) {
      operation.bytes = size;
      if (rows.empty()) {
        for (const auto& part : parts_) {
          rows.push_back(row_of(operation, static_cast<int>(part.ranks.size())));
        }
      }
      for (const auto& active : turns) {
        TRY_ASSIGN(auto batches, measure(operation, active));
        TRY(gather_into(operation, batches, rows));
      }
    }
    if (self_.leads()) self_.reporter.add_parts(std::move(rows));
    return {};
  }

  // The active parts measure, the others wait. Returns a batch for each own part.
  [[nodiscard]] Result<std::vector<Batch>> measure(const Operation& operation,
                                                   const std::vector<std::size_t>& active) {
    if (self_.leads()) self_.reporter.progress(describe(operation));
    std::vector<Batch> batches(own_.size());
    progress_->reset();
    // A part's first operation connects its ranks.
    self_.enter(
        describe(operation),
        to_duration(self_.command.operation_deadline) + to_duration(self_.command.join_deadline),
        counters_of(progress_));
    for (std::size_t at = 0; at < own_.size(); ++at) {
      const auto& [part, backend] = own_[at];
      if (std::ranges::find(active, part) == active.end()) continue;
      TRY_ASSIGN(batches[at],
                 verified_batch(*backend, operation, pace_of(self_.command), *progress_));
    }
    return batches;
  }

  [[nodiscard]] Result<void> gather_into(const Operation& operation,
                                         const std::vector<Batch>& batches,
                                         std::vector<Row>& rows) {
    TRY_ASSIGN(const auto all, gather(group_, batches));
    std::vector<Batch> by_part(parts_.size());
    for (std::size_t process = 0; process < all.size(); ++process) {
      for (std::size_t at = 0; at < all[process].size(); ++at) {
        // A process with several parts runs all of them, in order.
        const auto part =
            all[process].size() > 1 ? at : part_with(parts_, static_cast<int>(process));
        const auto& from = all[process][at];
        std::ranges::copy(from.samples, std::back_inserter(by_part[part].samples));
        std::ranges::copy(from.wrong, std::back_inserter(by_part[part].wrong));
      }
    }
    for (std::size_t part = 0; self_.leads() && part < parts_.size(); ++part) {
      if (by_part[part].samples.empty()) continue;  // not its turn
      for (auto& each : by_part[part].wrong) {
        each.rank = parts_[part].ranks.at(static_cast<std::size_t>(each.rank));
      }
      TRY_ASSIGN(placement_of(rows[part], operation),
                 timing_of(operation, rows[part].ranks, by_part[part]));
    }
    return {};
  }

  RankContext& self_;
  Group& group_;
  const std::vector<RankPart>& parts_;
  const std::vector<PartBackend>& own_;
  std::vector<std::uint64_t> sizes_;
  std::vector<Operation> largest_;  // the placements of the largest size
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
};

}  // namespace

Result<int> measure(RankContext& self, const BenchCommand& command) {
  const auto prepare_and_run = [](auto measuring) -> Result<int> {
    TRY_ASSIGN(const auto status, measuring.prepare());
    if (status == kExitHealthy) TRY(measuring.run());
    return status;
  };
  return command.split ? prepare_and_run(SplitMeasuring(self))
                       : prepare_and_run(Measuring(self, command));
}

}  // namespace muster::bench
