// SPDX-License-Identifier: Apache-2.0
#include "bench/run/split_measuring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "bench/results/row.hpp"
#include "bench/run/measuring.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/operation_timer.hpp"
#include "bench/run/plan.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench {
namespace {

class SplitMeasuring {
 public:
  SplitMeasuring(RankContext& self, Group& group, const std::vector<RankPart>& parts,
                 const std::vector<OwnPart>& own)
      : self_(self), group_(group), parts_(parts), own_(own) {}

  // Settles which sizes are run. Returns the exit status of a run that cannot be, for all ranks;
  // rank 0 has said why. kExitHealthy if the run may go on.
  [[nodiscard]] Result<int> prepare() {
    std::size_t most = 0;
    for (const auto& part : parts_) most = std::max(most, part.ranks.size());
    const auto& any = *own_.front().backend;
    const auto agreed =
        put(sizes_, agree_on_sizes(self_, self_.command, group_, any, static_cast<int>(most)));
    if (!agreed) return tl::unexpected(agreed.error());
    std::string refusal;
    for (const auto& [part, backend] : own_) {
      auto operations = operations_of(self_.command, sizes_, *backend);
      if (operations) {
        largest_ = *std::move(operations);
      } else if (refusal.empty()) {
        refusal = fmt::format("{}: {}", parts_[part].name, operations.error().message);
      }
    }
    TRY_ASSIGN(const auto refusals, gather(group_, refusal));
    const auto first =
        std::ranges::find_if(refusals, [](const auto& each) { return !each.empty(); });
    const bool refused = first != refusals.end();
    if (self_.leads() && refused) self_.say(*first);
    return broadcast(group_, refused ? kExitUsage : kExitHealthy);
  }

  [[nodiscard]] Result<void> run() {
    self_.enter(group_, {"reservation of memory", Part::starting},
                to_duration(self_.command.operation_deadline));
    for (const auto& [part, backend] : own_) {
      if (auto reserved = backend->reserve(largest_.front()); !reserved) return reserved;
    }
    if (self_.leads()) {
      self_.reporter.begin_table(self_.command, sizes_, self_.place.evidence, self_.settings);
      self_.reporter.begin_parts(parts_);
    }
    for (const auto size : sizes_) {
      if (auto ran = run_size(size); !ran) return ran;
    }
    return {};
  }

 private:
  [[nodiscard]] Result<void> run_size(std::uint64_t size) {
    std::vector<std::vector<std::size_t>> turns;
    std::vector<std::size_t> all(parts_.size());
    std::iota(all.begin(), all.end(), 0);
    if (self_.command.split_order == SplitOrder::at_once) turns.push_back(all);
    if (turns.empty()) {
      for (const auto part : all) turns.push_back({part});
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
        if (auto done = gather_into(operation, batches, rows); !done) return done;
      }
    }
    if (self_.leads()) self_.reporter.add_parts(std::move(rows));
    return {};
  }

  // Those of these parts measure; the others wait. A batch of each own part.
  [[nodiscard]] Result<std::vector<Batch>> measure(const Operation& operation,
                                                   const std::vector<std::size_t>& active) {
    self_.phase.set(describe(operation));
    if (self_.leads()) self_.reporter.progress(describe(operation));
    std::vector<Batch> batches(own_.size());
    // The first operation of a part makes its connections.
    progress_->reset();
    group_.enter(
        describe(operation),
        to_duration(self_.command.operation_deadline) + to_duration(self_.command.join_deadline),
        counters_of(progress_));
    for (std::size_t at = 0; at < own_.size(); ++at) {
      const auto& [part, backend] = own_[at];
      if (std::ranges::find(active, part) == active.end()) continue;
      const auto measured =
          put(batches[at], verified_batch(*backend, operation, pace_of(self_.command), *progress_));
      if (!measured) return tl::unexpected(measured.error());
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
        // A process that does several parts does all of them, in their order.
        const auto part =
            all[process].size() > 1 ? at : part_with(parts_, static_cast<int>(process));
        auto& into = by_part[part];
        const auto& from = all[process][at];
        std::ranges::copy(from.samples, std::back_inserter(into.samples));
        std::ranges::copy(from.wrong, std::back_inserter(into.wrong));
      }
    }
    for (std::size_t part = 0; self_.leads() && part < parts_.size(); ++part) {
      if (by_part[part].samples.empty()) continue;  // not its turn
      TRY_ASSIGN(auto timing, timing_of(operation, rows[part].ranks, by_part[part].samples));
      timing.checked = true;
      for (auto& each : by_part[part].wrong) {
        each.rank = parts_[part].ranks.at(static_cast<std::size_t>(each.rank));
      }
      timing.wrong = std::move(by_part[part].wrong);
      placement_of(rows[part], operation) = std::move(timing);
    }
    return {};
  }

  RankContext& self_;
  Group& group_;
  const std::vector<RankPart>& parts_;
  const std::vector<OwnPart>& own_;
  std::vector<std::uint64_t> sizes_;
  std::vector<Operation> largest_;  // every placement of the largest size
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
};

}  // namespace

Result<int> measure_parts(RankContext& self, Group& group, const std::vector<RankPart>& parts,
                          const std::vector<OwnPart>& own) {
  SplitMeasuring measuring(self, group, parts, own);
  const auto status = measuring.prepare();
  if (!status || *status != kExitHealthy) return status;
  if (auto measured = measuring.run(); !measured) return tl::unexpected(measured.error());
  return status;
}

}  // namespace muster::bench
