// SPDX-License-Identifier: Apache-2.0
#include "bench/run/measuring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "bench/backends/nccl/transport.hpp"
#include "bench/collectives/pattern.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/run/operation_timer.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/bench.hpp"

namespace muster::bench {
namespace {

// In place, a rank needs one buffer.
std::uint64_t buffers_of(const BenchCommand& command) {
  return command.placement == Placement::in ? 1 : 2;
}

// The least size with an element for each rank.
std::uint64_t least_size(const BenchCommand& command, int ranks) {
  if (!moves_data(command.collective)) return 0;
  Operation operation{.collective = command.collective, .type = command.type, .bytes = 1};
  const auto is_empty = [&](std::uint64_t bytes) {
    operation.bytes = bytes;
    return shape_of(operation, 0, ranks).count == 0;
  };
  std::uint64_t enough = 1;
  while (is_empty(enough)) enough *= 2;
  for (std::uint64_t little = enough / 2; enough - little > 1;) {
    const auto middle = little + (enough - little) / 2;
    (is_empty(middle) ? little : enough) = middle;
  }
  return enough;
}

Sizes without_empty(Sizes sizes, const BenchCommand& command, int ranks) {
  const auto least = least_size(command, ranks);
  if (!command.sizes.empty() || sizes.bytes.front() >= least || sizes.bytes.back() < least) {
    return sizes;
  }
  std::erase_if(sizes.bytes, [least](std::uint64_t size) { return size < least; });
  if (!sizes.remark.empty()) sizes.remark += "; ";
  sizes.remark +=
      fmt::format("sizes begin at {}: a smaller one has no element for each of {} ranks",
                  size_text(sizes.bytes.front()), ranks);
  return sizes;
}

// The largest size that the profile limits on `nodes` nodes; 0 for none.
std::uint64_t largest_limit(const Profile& profile, Collective collective, int nodes) {
  double largest = 0;
  if (nodes == 1 && collective == Collective::all_reduce) {
    largest = profile.bench->node_all_reduce.size.value_or(Bytes{}).value;
  }
  for (const auto& limit : job_limits(profile, collective)) {
    if (nodes == 1 || nodes < limit.nodes_at_least.value_or(1)) continue;
    largest = std::max(largest, limit.size.value_or(Bytes{}).value);
  }
  return static_cast<std::uint64_t>(largest);
}

class Measuring {
 public:
  Measuring(RankContext& self, const BenchCommand& command)
      : self_(self),
        command_(command),
        group_(*self.membership.group),
        backend_(*self.backend),
        timer_(group_, backend_,
               {.pace = pace_of(command),
                .precision = command.precision,
                .shared = shared(),
                .operation_deadline = command.operation_deadline,
                .join_deadline = command.join_deadline}) {}

  [[nodiscard]] Result<int> prepare() {
    TRY_ASSIGN(sizes_, agree_on_sizes(self_, command_, backend_, backend_.ranks()));
    std::string refusal;
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
      left_ = time_left(i);
      const auto begin = Clock::now();
      TRY(run_size(sizes_[i]));
      last_ = Clock::now() - begin;
    }
    left_.clear();
    return {};
  }

  // Rank 0 decides for all.
  [[nodiscard]] Result<bool> needs_cycle(int done, Clock::time_point begin) {
    if (command_.cycles == 1 && !command_.soak) return false;
    const auto time = to_duration(command_.soak.value_or(Seconds{0}));
    const bool more = done < command_.cycles || Clock::now() - begin < time;
    return broadcast(group_, more ? 1 : 0).map([](int word) { return word != 0; });
  }

  // Estimates the time for the sizes from `next` on by the one before, as "; about 40 s left".
  // Empty if it is short or unknown.
  [[nodiscard]] std::string time_left(std::size_t next) const {
    // The time of smaller operations does not depend on their size.
    constexpr std::uint64_t kProportional = 1ULL << 20U;
    constexpr std::chrono::seconds kWorthShowing{2};
    if (next == 0 || sizes_[next - 1] < kProportional) return {};
    double bytes = 0;
    for (std::size_t i = next; i < sizes_.size(); ++i) bytes += static_cast<double>(sizes_[i]);
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(
        last_ * (bytes / static_cast<double>(sizes_[next - 1])));
    return left < kWorthShowing ? std::string() : fmt::format("; about {} s left", left.count());
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
                                        measured.samples.front().seconds.size()));
    }
    TRY_ASSIGN(auto timing, timing_of(operation, backend_.ranks(), measured.samples, shared()));
    timing.checked = true;
    timing.wrong = std::move(measured.wrong);
    placement_of(row, operation) = std::move(timing);
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
                                .left = left_,
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
    self_.enter("account of the transport", to_duration(command_.operation_deadline));
    TRY(backend_.account_for(largest_.front().front()));
    TRY_ASSIGN(const auto logs, group_.gather(shorten_log(backend_.log())));
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
        self_.reporter.remark(fmt::format("next to its limit or below: measured twice more{}",
                                          renewed ? ", each time with a new communicator" : ""));
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
  std::string left_;        // see time_left()
};

}  // namespace

Pace pace_of(const BenchCommand& command) {
  return {.warm_up = command.warm_up,
          .iterations = command.iterations,
          .pipelined = command.pipelined,
          .graph = command.graph,
          .together = command.together,
          .cpu_time = command.cpu_time};
}

Result<std::optional<LeastMemory>> least_memory(const std::vector<std::string>& reported) {
  std::optional<LeastMemory> least;
  for (std::size_t rank = 0; rank < reported.size(); ++rank) {
    if (reported[rank].empty()) continue;
    TRY_ASSIGN(const auto bytes, parse_unsigned(reported[rank]));
    if (!least || bytes < least->bytes) least = {static_cast<int>(rank), bytes};
  }
  return least;
}

Sizes sizes_of(const BenchCommand& command, const Profile& profile, const RunFacts& facts,
               const std::optional<LeastMemory>& memory) {
  constexpr std::uint64_t kSmallest = 8;
  constexpr std::uint64_t kLargestOnHost = 64ULL << 20U;
  constexpr std::uint64_t kLargestOnGpu = 8ULL << 30U;
  constexpr std::uint64_t kLibraryShare =
      10;  // one tenth of the free memory is left to the library
  if (!moves_data(command.collective)) return {.bytes = {0}};
  const auto limit = facts.gpus ? largest_limit(profile, command.collective, facts.nodes) : 0;
  const auto usual = facts.gpus ? kLargestOnGpu : kLargestOnHost;
  const auto wanted = limit == 0 ? usual : limit;
  const auto smallest = std::bit_ceil(std::max(kSmallest, least_size(command, facts.ranks)));
  const auto fitting =
      memory ? memory->bytes / kLibraryShare * (kLibraryShare - 1) / buffers_of(command) : wanted;
  if (fitting >= wanted || !command.sizes.empty() || command.max) {
    return without_empty({sizes_of(command, smallest, wanted), {}}, command, facts.ranks);
  }
  Sizes sizes{.bytes = sizes_of(command, smallest, std::max(fitting, smallest))};
  sizes.remark = fmt::format(
      "sizes end at {}: {} of {} for each rank would not fit: rank {} has {} free",
      size_text(sizes.bytes.back()), buffers_of(command) == 1 ? "one buffer" : "two buffers",
      size_text(wanted), memory->rank, size_text(memory->bytes));
  return without_empty(std::move(sizes), command, facts.ranks);
}

std::vector<BenchCommand> variants_of(const BenchCommand& command) {
  std::vector<BenchCommand> variants;
  auto types = command.types;
  auto reductions = command.reductions;
  if (types.empty() || !moves_data(command.collective)) types = {command.type};
  if (reductions.empty() || !reduces(command.collective)) reductions = {command.reduction};
  const bool one = types.size() * reductions.size() == 1;
  for (const auto type : types) {
    for (const auto reduction : reductions) {
      if (!one && reduces(command.collective) && !can_verify(type, reduction)) continue;
      auto& variant = variants.emplace_back(command);
      variant.type = type;
      variant.reduction = reduction;
    }
  }
  return variants;
}

Result<std::vector<Operation>> operations_of(const BenchCommand& command,
                                             const std::vector<std::uint64_t>& sizes,
                                             const Backend& backend) {
  if (command.root >= backend.ranks()) {
    return make_error(
        fmt::format("--root: rank {} is not one of {} ranks", command.root, backend.ranks()));
  }
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  if (const auto least = least_size(command, backend.ranks()); smallest < least) {
    return make_error(fmt::format("{} of {} among {} ranks needs {} or more, got {}",
                                  to_string(command.collective), to_string(command.type),
                                  backend.ranks(), size_text(least), size_text(smallest)));
  }
  if (reduces(command.collective) && !can_verify(command.type, command.reduction)) {
    return make_error(
        fmt::format("--op {} of {} cannot be verified: its rounding errors are as "
                    "large as the differences between results",
                    to_string(command.reduction), to_string(command.type)));
  }
  std::vector<Operation> operations;
  std::optional<Error> refused;
  for (const bool in_place : {false, true}) {
    if (command.placement == (in_place ? Placement::out : Placement::in)) continue;
    const Operation operation{.collective = command.collective,
                              .type = command.type,
                              .reduction = command.reduction,
                              .root = command.root,
                              .in_place = in_place,
                              .bytes = largest};
    auto can = can_run(operation, backend.ranks());
    if (can) can = backend.supports(operation, pace_of(command));
    if (can) {
      operations.push_back(operation);
    } else if (!refused) {
      refused = can.error();
    }
  }
  if (operations.empty()) return tl::unexpected(*refused);
  return operations;
}

Result<std::vector<std::uint64_t>> agree_on_sizes(RankContext& self, const BenchCommand& command,
                                                  const Backend& backend, int ranks) {
  auto& group = *self.membership.group;
  const auto mine = backend.memory_free();
  TRY_ASSIGN(const auto free, group.gather(mine ? std::to_string(*mine) : ""));
  TRY_ASSIGN(const auto memory, least_memory(free));
  const auto& record = self.reporter.record();
  auto facts = facts_of(record);
  facts.ranks = ranks;
  const auto sizes = sizes_of(command, record.choice.profile, facts, memory);
  if (self.leads() && !sizes.remark.empty()) self.reporter.remark(sizes.remark);
  return broadcast(group, sizes.bytes);
}

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
      self.say(fmt::format("--output: {}", can.error().message));
    }
  }
  return broadcast(group, status);
}

Result<int> measure(RankContext& self, const BenchCommand& command) {
  Measuring measuring(self, command);
  TRY_ASSIGN(const auto status, measuring.prepare());
  if (status == kExitHealthy) TRY(measuring.run());
  return status;
}

}  // namespace muster::bench
