// SPDX-License-Identifier: Apache-2.0
#include "bench/run/splitting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "bench/model/cluster_model.hpp"
#include "bench/run/measuring.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/operation_timer.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench {
namespace {

std::string name_of(const Split& split, int key, const std::vector<int>& ranks,
                    const std::vector<std::string>& hosts) {
  if (split.by == Split::By::node) return hosts.at(static_cast<std::size_t>(key));
  if (split.by == Split::By::rail) return fmt::format("rail{}", key);
  return fmt::format("ranks {}-{}", ranks.front(), ranks.back());
}

class SplitMeasuring {
 public:
  explicit SplitMeasuring(RankContext& self)
      : self_(self), group_(*self.membership.group), parts_(self.parts), own_(self.part_backends) {}

  [[nodiscard]] Result<int> prepare() {
    std::size_t most = 0;
    for (const auto& part : parts_) most = std::max(most, part.ranks.size());
    TRY_ASSIGN(sizes_,
               agree_on_sizes(self_, self_.command, *own_.front().backend, static_cast<int>(most)));
    std::string refusal;
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
      TRY_ASSIGN(auto timing, timing_of(operation, rows[part].ranks, by_part[part].samples));
      timing.checked = true;
      timing.wrong = std::move(by_part[part].wrong);
      for (auto& each : timing.wrong) {
        each.rank = parts_[part].ranks.at(static_cast<std::size_t>(each.rank));
      }
      placement_of(rows[part], operation) = std::move(timing);
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

Result<std::vector<RankPart>> parts_of(const Split& split, const std::vector<RankPlace>& places,
                                       const std::vector<std::string>& hosts) {
  std::map<int, std::vector<int>> by_key;
  for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
    const auto& place = places[static_cast<std::size_t>(rank)];
    const int key = split.by == Split::By::node   ? place.node
                    : split.by == Split::By::rail ? place.local
                                                  : rank / split.count;
    by_key[key].push_back(rank);
  }
  std::vector<RankPart> parts;
  for (auto& [key, ranks] : by_key) {
    if (ranks.size() < 2) {
      return make_error(fmt::format(
          "--split: rank {} would be alone, and one rank has no bandwidth", ranks.front()));
    }
    auto name = name_of(split, key, ranks, hosts);
    parts.push_back({.name = std::move(name), .ranks = std::move(ranks)});
  }
  if (parts.size() < 2) {
    return make_error(fmt::format("--split: all {} ranks would be together", places.size()));
  }
  return parts;
}

Result<std::vector<RankPart>> split_ranks(const RankContext& self) {
  const auto& split = *self.command.split;
  const auto& agreed = self.membership.agreed;
  std::vector<RankPlace> places;
  if (self.kind != BackendKind::sim) {
    for (std::size_t rank = 0; rank < agreed.nodes.size(); ++rank) {
      places.push_back({agreed.nodes[rank], agreed.local_ranks[rank]});
    }
    return parts_of(split, places, agreed.hosts);
  }
  const auto& cluster = self.cluster;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < ranks_of(cluster); ++rank) {
    places.push_back({rank / cluster.gpus, rank % cluster.gpus});
  }
  for (const auto node : whole(cluster).nodes) hosts.push_back(sim_node_name(node));
  return parts_of(split, places, hosts);
}

std::size_t part_with(const std::vector<RankPart>& parts, int rank) {
  const auto found = std::ranges::find_if(parts, [rank](const RankPart& part) {
    return std::ranges::find(part.ranks, rank) != part.ranks.end();
  });
  return static_cast<std::size_t>(found - parts.begin());
}

Exchange exchange_within(Group& group, const std::vector<RankPart>& parts) {
  const auto& mine = parts.at(part_with(parts, group.rank()));
  // Returns the texts of all ranks, on all ranks. They may be any bytes, such as NCCL's id.
  const auto all = [&group](std::string_view text) -> Result<std::vector<std::string>> {
    TRY_ASSIGN(const auto gathered, gather(group, ByteList(text.begin(), text.end())));
    TRY_ASSIGN(const auto lists, broadcast(group, gathered));
    std::vector<std::string> texts;
    for (const auto& list : lists) texts.emplace_back(list.begin(), list.end());
    return texts;
  };
  return {
      .gather = [all, &group, &mine](std::string_view text) -> Result<std::vector<std::string>> {
        TRY_ASSIGN(const auto texts, all(text));
        std::vector<std::string> own;
        if (group.rank() != mine.ranks.front()) return own;
        for (const int rank : mine.ranks) own.push_back(texts.at(static_cast<std::size_t>(rank)));
        return own;
      },
      .broadcast = [all, &mine](std::string_view text) -> Result<std::string> {
        TRY_ASSIGN(auto texts, all(text));
        return texts.at(static_cast<std::size_t>(mine.ranks.front()));
      }};
}

Result<int> measure_parts(RankContext& self) {
  SplitMeasuring measuring(self);
  TRY_ASSIGN(const auto status, measuring.prepare());
  if (status == kExitHealthy) TRY(measuring.run());
  return status;
}

}  // namespace muster::bench
