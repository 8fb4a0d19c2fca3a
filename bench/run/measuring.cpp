// SPDX-License-Identifier: Apache-2.0
#include "bench/run/measuring.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/results/row.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/operation_timer.hpp"
#include "bench/run/plan.hpp"
#include "bench/run/ticker.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench {
namespace {

class Measuring {
 public:
  Measuring(RankContext& self, const BenchCommand& command, Group& group, Backend& backend)
      : self_(self), command_(command), group_(group), backend_(backend) {}

  // Settles which sizes are run. Returns the exit status of a run that cannot be, for all ranks;
  // rank 0 has said why. kExitHealthy if the run may go on.
  [[nodiscard]] Result<int> prepare() {
    const auto agreed =
        put(sizes_, agree_on_sizes(self_, command_, group_, backend_, backend_.ranks()));
    if (!agreed) return tl::unexpected(agreed.error());
    std::string mine;
    std::vector<std::string> left_out;
    for (const auto& variant : variants_of(command_)) {
      auto operations = operations_of(variant, sizes_, backend_);
      if (operations) {
        largest_.push_back(*std::move(operations));
      } else if (largest_.empty()) {
        mine = operations.error().message;
        break;
      } else {
        left_out.push_back(fmt::format("not run: {}", operations.error().message));
      }
    }
    TRY_ASSIGN(const auto refusals, gather(group_, mine));
    for (const auto& each : left_out) {
      if (self_.leads()) self_.reporter.remark(each);
    }
    const auto refusal = self_.leads() ? first_refusal(refusals) : Failure{.status = kExitHealthy};
    if (!refusal.message.empty()) self_.say(refusal.message);
    return broadcast(group_, refusal.status);
  }

  [[nodiscard]] Result<void> run() {
    self_.enter(group_, {"reservation of memory", Part::starting},
                to_duration(command_.operation_deadline));
    // Out of place where both are run: it needs the most.
    for (const auto& operations : largest_) {
      if (auto reserved = backend_.reserve(operations.front()); !reserved) return reserved;
    }
    for (auto& remark : backend_.remarks()) self_.place.evidence.push_back(std::move(remark));
    if (self_.leads())
      self_.reporter.begin_table(command_, sizes_, self_.place.evidence, self_.settings);
    OperationTimer timer(group_, backend_,
                         {.pace = pace_of(command_),
                          .precision = command_.precision,
                          .shared = shared(),
                          .operation_deadline = command_.operation_deadline,
                          .join_deadline = command_.join_deadline});
    const auto begin = Clock::now();
    for (int cycles = 1;; ++cycles) {
      if (auto ran = run_sizes(timer); !ran) return ran;
      TRY_ASSIGN(const auto more, goes_on(cycles, begin));
      if (!more) break;
    }
    if (auto gathered = gather_transport(); !gathered) return gathered;
    return repeat(timer);
  }

 private:
  // That of the first rank that cannot run it, or of a report that cannot be written in the end.
  [[nodiscard]] Failure first_refusal(const std::vector<std::string>& refusals) const {
    for (std::size_t rank = 0; rank < refusals.size(); ++rank) {
      const auto& text = refusals[rank];
      if (text.empty()) continue;
      return {.status = kExitUsage,
              .message = rank == 0 ? text : fmt::format("rank {}: {}", rank, text)};
    }
    const auto can = self_.reporter.can_conclude();
    if (can) return {.status = kExitHealthy, .message = {}};
    return {.status = kExitUndecided, .message = fmt::format("--output: {}", can.error().message)};
  }

  [[nodiscard]] Result<void> run_sizes(OperationTimer& timer) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      left_ = time_left(i);
      const auto begin = Clock::now();
      if (auto ran = run_size(timer, sizes_[i]); !ran) return ran;
      last_ = Clock::now() - begin;
    }
    left_.clear();
    return {};
  }

  // Rank 0's word, for all.
  [[nodiscard]] Result<bool> goes_on(int cycles, Clock::time_point begin) {
    if (command_.cycles == 1 && !command_.soak) return false;
    const auto time = to_duration(command_.soak.value_or(Seconds{0}));
    const bool more = cycles < command_.cycles || Clock::now() - begin < time;
    TRY_ASSIGN(const auto word, broadcast(group_, more ? 1 : 0));
    return word != 0;
  }

  // How long the sizes from this place on will take, judged by the one before, as "about 40 s
  // left"; empty where that cannot be told.
  [[nodiscard]] std::string time_left(std::size_t next) const {
    // Below, an operation takes as long whatever its size is.
    constexpr std::uint64_t kProportional = 1ULL << 20U;
    constexpr std::chrono::seconds kWorthTelling{2};
    if (next == 0 || sizes_[next - 1] < kProportional) return {};
    double bytes = 0;
    for (std::size_t i = next; i < sizes_.size(); ++i) bytes += static_cast<double>(sizes_[i]);
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(
        last_ * (bytes / static_cast<double>(sizes_[next - 1])));
    return left < kWorthTelling ? std::string() : fmt::format("; about {} s left", left.count());
  }

  // How many iterations in a row are one mean.
  [[nodiscard]] std::size_t shared() const {
    const bool means = command_.pipelined && self_.kind != BackendKind::nccl;
    return means ? static_cast<std::size_t>(command_.iterations) : 1;
  }

  // A row for each variant of the command, or of the first one alone.
  [[nodiscard]] Result<void> run_size(OperationTimer& timer, std::uint64_t size,
                                      bool first = false) {
    for (const auto& operations : largest_) {
      if (auto ran = run_variant(timer, operations, size); !ran || first) return ran;
    }
    return {};
  }

  [[nodiscard]] Result<void> run_variant(OperationTimer& timer, std::vector<Operation> operations,
                                         std::uint64_t size) {
    for (auto& operation : operations) operation.bytes = size;
    Row row = row_of(operations.front(), backend_.ranks());
    for (const auto& operation : operations) {
      if (auto timed = time_into(timer, operation, row); !timed) return timed;
    }
    if (self_.leads()) self_.reporter.add(std::move(row));
    return {};
  }

  [[nodiscard]] Result<void> time_into(OperationTimer& timer, const Operation& operation,
                                       Row& row) {
    self_.phase.set(describe(operation));
    TRY_ASSIGN(auto measured, run_shown(timer, operation));
    if (!self_.leads()) return {};
    if (measured.cut_short) {
      self_.reporter.remark(fmt::format("{}: --precision was not reached with {} iterations",
                                        describe(operation),
                                        measured.samples.front().seconds.size()));
    }
    TRY_ASSIGN(auto timing, timing_of(operation, backend_.ranks(), measured.samples, shared()));
    timing.checked = true;
    timing.wrong = std::move(measured.wrong);
    placement_of(row, operation) = std::move(timing);
    return {};
  }

  // For somebody at a terminal a line says every second how far it is.
  [[nodiscard]] Result<Measured> run_shown(OperationTimer& timer, const Operation& operation) {
    if (!self_.leads() || !self_.reporter.shows_progress()) return timer.run(operation);
    const auto all = static_cast<std::uint64_t>(command_.warm_up) +
                     static_cast<std::uint64_t>(command_.iterations);
    const Ticker ticker(
        [&](Clock::duration since) {
          return progress_line({.what = describe(operation),
                                .left = left_,
                                .done = timer.progress()->finished.load(),
                                .all = all,
                                .since = since,
                                .awaited = group_.awaited()});
        },
        [this](std::string_view line) { self_.reporter.progress(line); });
    return timer.run(operation);
  }

  // What the library says of the ways that the data took, in a pass of its own.
  [[nodiscard]] Result<void> gather_transport() {
    self_.enter(group_, "account of the transport", to_duration(command_.operation_deadline));
    if (auto logged = backend_.account_for(largest_.front().front()); !logged) return logged;
    TRY_ASSIGN(const auto logs, group_.gather(telling_lines(backend_.log())));
    if (!self_.leads()) return {};
    const auto& record = self_.reporter.record();
    const auto required = required_transports(command_.require_transport, record.choice.profile,
                                              record.gpus, static_cast<int>(record.hosts.size()));
    self_.reporter.add(transport_report(logs, record.members, required, command_.collective));
    return {};
  }

  // A value next to its limit or below is measured twice more, over connections made anew, since
  // these differ more than what is measured over one of them; the median of all decides.
  [[nodiscard]] Result<void> repeat(OperationTimer& timer) {
    const auto wanted = self_.leads() ? self_.reporter.to_repeat(command_) : std::nullopt;
    TRY_ASSIGN(const auto size, broadcast(group_, wanted ? wanted->bytes : std::uint64_t{0}));
    if (size == 0) return {};
    for (int round = 0; round < kRepeats; ++round) {
      TRY_ASSIGN(const auto renewed, backend_.renew());
      if (renewed) timer.reconnect();
      if (self_.leads() && round == 0) {
        self_.reporter.remark(fmt::format("next to its limit or below: measured twice more{}",
                                          renewed ? ", each time with a new communicator" : ""));
      }
      if (auto ran = run_size(timer, size, true); !ran) return ran;
    }
    return {};
  }

  RankContext& self_;
  const BenchCommand& command_;
  Group& group_;
  Backend& backend_;
  std::vector<std::uint64_t> sizes_;
  // Every placement of the largest size, of each type and reduction; the judged one first.
  std::vector<std::vector<Operation>> largest_;
  Clock::duration last_{};  // what the size before this one took
  std::string left_;        // as time_left tells it
};

}  // namespace

Result<std::vector<std::uint64_t>> agree_on_sizes(RankContext& self, const BenchCommand& command,
                                                  Group& group, const Backend& backend, int ranks) {
  const auto mine = backend.memory_free();
  TRY_ASSIGN(const auto free, group.gather(mine ? std::to_string(*mine) : ""));
  TRY_ASSIGN(const auto room, least_room(free));
  const auto& record = self.reporter.record();
  auto facts = facts_of(record);
  facts.ranks = ranks;
  const auto sizes = sizes_of(command, record.choice.profile, facts, room);
  if (self.leads() && !sizes.remark.empty()) self.reporter.remark(sizes.remark);
  return broadcast(group, sizes.bytes);
}

Result<int> measure(RankContext& self, const BenchCommand& command, Group& group,
                    Backend& backend) {
  Measuring measuring(self, command, group, backend);
  const auto status = measuring.prepare();
  if (!status || *status != kExitHealthy) return status;
  if (auto measured = measuring.run(); !measured) return tl::unexpected(measured.error());
  return status;
}

}  // namespace muster::bench
