// SPDX-License-Identifier: Apache-2.0
#include "fleet/node_intervals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "lib/base/json_read.hpp"

namespace muster::fleet {
namespace {

// Numbers texts, so that they can be compared quickly.
class Numbering {
 public:
  explicit Numbering(std::vector<std::string>& texts) : texts_(texts) { texts_.assign(1, ""); }

  std::uint32_t of(std::string_view text) {
    const auto [known, is_new] =
        known_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.emplace_back(text);
    return known->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, std::uint32_t> known_{{"", 0}};
};

}  // namespace

Result<std::vector<Seat>> read_seats(Database& database, const Nodes& nodes) {
  std::vector<Seat> seats;
  TRY(
      database.each("SELECT part, node, slot, device, kind, model, serial, started, last "
                    "FROM seat JOIN part ON part.id = part ORDER BY node",
                    [&](const Row& row) {
                      if (!nodes.contains(row.whole(1))) return;
                      seats.push_back({.part = row.whole(0),
                                       .node = row.whole(1),
                                       .slot = std::string(row.text(2)),
                                       .device = std::string(row.text(3)),
                                       .kind = std::string(row.text(4)),
                                       .model = std::string(row.text(5)),
                                       .serial = std::string(row.text(6)),
                                       .started = row.whole(7),
                                       .last = row.whole(8)});
                    }));
  return seats;
}

Result<Uptimes> Uptimes::read(Database& database, const Nodes& nodes, std::int64_t from,
                              std::int64_t until) {
  Uptimes uptimes;
  uptimes.from_ = from;
  uptimes.until_ = until;
  TRY(database.each(
      "SELECT node, max(started, ?1), min(ended, ?2) FROM uptime "
      "WHERE ended > ?1 AND started < ?2 ORDER BY node, started",
      [&](const Row& row) {
        if (!nodes.contains(row.whole(0))) return;
        auto& of_node = uptimes.by_node_[row.whole(0)];
        const auto before = of_node.empty() ? 0
                                            : of_node.back().before_s + of_node.back().ended -
                                                  of_node.back().started;
        of_node.push_back({row.whole(1), row.whole(2), before});
      },
      from, until));
  return uptimes;
}

double Uptimes::hours(std::int64_t node, std::int64_t from, std::int64_t until) const {
  const auto known = by_node_.find(node);
  if (known == by_node_.end() || from >= until) return 0;
  // Returns the total length of all intervals before a time, in seconds.
  const auto until_time = [&](std::int64_t time) -> std::int64_t {
    const auto& intervals = known->second;
    auto next = std::ranges::upper_bound(intervals, time, {}, &Interval::started);
    if (next == intervals.begin()) return 0;
    --next;
    return next->before_s + std::min(time, next->ended) - next->started;
  };
  constexpr double kHour_s = 3600;
  return static_cast<double>(until_time(until) - until_time(from)) / kHour_s;
}

std::string stack_difference(const std::string& before, const std::string& after) {
  const auto old = from_json<ByName<std::string>>(before.empty() ? "{}" : before);
  const auto now = from_json<ByName<std::string>>(after.empty() ? "{}" : after);
  if (!old || !now) return "";
  std::vector<std::string> changes;
  for (const auto& [name, version] : *now) {
    const auto known = old->find(name);
    if (known == old->end() || known->second == version) continue;
    changes.push_back(fmt::format("{} {} became {}", name, known->second, version));
  }
  return fmt::format("{}", fmt::join(changes, ", "));
}

std::vector<std::string> NodeChanges::near(std::int64_t node, std::int64_t at) const {
  std::vector<std::string> texts;
  const auto known = by_node.find(node);
  if (known == by_node.end()) return texts;
  for (const auto& change : known->second) {
    if (std::abs(change.at / kDay_s - at / kDay_s) <= 1 && !change.text.empty()) {
      texts.push_back(change.text);
    }
  }
  return texts;
}

Result<NodeChanges> read_changes(Database& database) {
  NodeChanges changes;
  Numbering numbering(changes.stacks);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> differences;
  std::int64_t node = -1;
  std::uint32_t stack = 0;
  TRY(
      database.each("SELECT node, first, stack FROM boot WHERE first IS NOT NULL AND stack <> '' "
                    "ORDER BY node, first",
                    [&](const Row& row) {
                      const auto next = numbering.of(row.text(2));
                      if (row.whole(0) != node) {
                        node = row.whole(0);
                        changes.first_stack[node] = next;
                      } else if (next != stack) {
                        auto& text = differences[{stack, next}];
                        if (text.empty())
                          text = stack_difference(changes.stacks[stack], changes.stacks[next]);
                        changes.by_node[node].push_back(
                            {.at = row.whole(1), .device = {}, .stack = next, .text = text});
                      }
                      stack = next;
                    }));
  std::string slot;
  node = -1;
  TRY(database.each("SELECT node, slot, device, started FROM seat ORDER BY node, slot, started",
                    [&](const Row& row) {
                      if (row.whole(0) == node && row.text(1) == slot) {
                        changes.by_node[node].push_back(
                            {.at = row.whole(3),
                             .device = std::string(row.text(2)),
                             .text = fmt::format("{} replaced", row.text(2))});
                      }
                      node = row.whole(0);
                      slot = row.text(1);
                    }));
  for (auto& [id, of_node] : changes.by_node) {
    std::ranges::stable_sort(of_node, {}, &NodeChange::at);
    const auto first = changes.first_stack.find(id);
    auto now = first == changes.first_stack.end() ? 0 : first->second;
    for (auto& change : of_node) now = change.stack = change.device.empty() ? change.stack : now;
  }
  return changes;
}

}  // namespace muster::fleet
