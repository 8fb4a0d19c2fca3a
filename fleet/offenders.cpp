// SPDX-License-Identifier: Apache-2.0
#include "fleet/offenders.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "fleet/node_intervals.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::fleet {
namespace {

constexpr std::string_view kHost = "host";  // a kind of part

// Numbers everything that incidents can be charged to.
class Suspects {
 public:
  Suspects(const Nodes& nodes, const Uptimes& uptimes, std::vector<Seat> seats, std::int64_t from,
           std::int64_t now)
      : nodes_(nodes), seats_(std::move(seats)) {
    for (const auto& [id, node] : nodes) {
      nodes_of_[id] = add(SuspectKind::node, peers_of("", node.profile), uptimes.hours(id), id, 0);
    }
    std::unordered_map<std::int64_t, std::size_t> parts;
    std::unordered_map<std::string_view, std::size_t> slots;  // of one node
    std::int64_t node = -1;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      const auto& seat = seats_[i];
      if (std::exchange(node, seat.node) != seat.node) slots.clear();
      by_node_[node].push_back(i);
      const auto hours =
          uptimes.hours(seat.node, std::max(from, seat.started), std::min(now, seat.last));
      const bool is_host = seat.kind == kHost;
      const auto peers =
          is_host ? peers_of(kHost, nodes.at(node).profile) : peers_of(seat.kind, seat.model);
      auto& place = places_.emplace_back();
      place.part = known_or_new(parts, seat.part, is_host ? SuspectKind::host : SuspectKind::part,
                                peers, hours, node, i);
      if (is_host) continue;
      place.seat = known_or_new(slots, std::string_view(seat.slot), SuspectKind::seat, peers, hours,
                                node, i);
    }
  }

  // Everything that an incident may be charged to.
  [[nodiscard]] std::vector<std::size_t> of(std::int64_t node, std::int64_t at,
                                            std::string_view device,
                                            std::optional<std::int64_t> part) const {
    std::vector<std::size_t> charged{nodes_of_.at(node)};
    const auto known = by_node_.find(node);
    if (known == by_node_.end()) return charged;
    // Returns the newest seats up to then.
    std::optional<std::size_t> host, seat;
    const auto take_newer = [&](std::optional<std::size_t>& newest, std::size_t i) {
      if (!newest || seats_[*newest].started < seats_[i].started) newest = i;
    };
    for (const auto i : known->second) {
      const auto& each = seats_[i];
      if (each.started > at) continue;
      const bool is_it = part ? each.part == *part : each.device == device || each.slot == device;
      if (each.kind == kHost) {
        take_newer(host, i);
      } else if (is_it) {
        take_newer(seat, i);
      }
    }
    if (host) charged.push_back(places_[*host].part);
    if (seat) charged.insert(charged.end(), {places_[*seat].part, places_[*seat].seat});
    return charged;
  }

  [[nodiscard]] std::string name(std::size_t suspect) const {
    const auto& [node, place] = sources_[suspect];
    const auto& seat = seats_[place];
    switch (suspects[suspect].kind) {
      case SuspectKind::part:
        return fmt::format("{} {}", seat.kind, seat.serial);
      case SuspectKind::seat:
        return fmt::format("{} {}", nodes_.at(node).name, seat.device);
      case SuspectKind::host:
        return seat.serial;
      case SuspectKind::node:
        break;
    }
    return nodes_.at(node).name;
  }

  [[nodiscard]] std::string model(std::size_t suspect) const {
    return suspects[suspect].kind == SuspectKind::node ? ""
                                                       : seats_[sources_[suspect].second].model;
  }

  std::vector<Suspect> suspects;

 private:
  struct Place {
    std::size_t part = 0, seat = 0;
  };

  std::uint32_t peers_of(std::string_view kind, const std::string& model) {
    return peers_
        .try_emplace(std::pair(std::string(kind), model), static_cast<std::uint32_t>(peers_.size()))
        .first->second;
  }

  std::size_t add(SuspectKind kind, std::uint32_t peers, double hours, std::int64_t node,
                  std::size_t seat) {
    suspects.push_back({.kind = kind, .peers = peers, .exposure_h = hours});
    sources_.emplace_back(node, seat);
    return suspects.size() - 1;
  }

  template <class Known, class Key>
  std::size_t known_or_new(Known& known, const Key& key, SuspectKind kind, std::uint32_t peers,
                           double hours, std::int64_t node, std::size_t seat) {
    const auto [found, is_new] = known.try_emplace(key, suspects.size());
    if (is_new) return add(kind, peers, hours, node, seat);
    suspects[found->second].exposure_h += hours;
    return found->second;
  }

  const Nodes& nodes_;
  std::vector<Seat> seats_;
  std::vector<Place> places_;                                  // one per seat
  std::vector<std::pair<std::int64_t, std::size_t>> sources_;  // one per suspect: node, seat
  std::map<std::pair<std::string, std::string>, std::uint32_t> peers_;
  std::unordered_map<std::int64_t, std::size_t> nodes_of_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> by_node_;
};

}  // namespace

Result<std::vector<OffenderRow>> ask_offenders(Database& database, const Nodes& nodes,
                                               std::int64_t now) {
  const auto from = now - kOffenderDays * kDay_s;
  TRY_ASSIGN(const auto uptimes, Uptimes::read(database, nodes, from, now));
  TRY_ASSIGN(auto seats, read_seats(database, nodes));
  const Suspects suspects(nodes, uptimes, std::move(seats), from, now);
  std::vector<SuspectedIncident> incidents;
  std::vector<std::pair<std::string, std::string>> charges;  // node and cause of each
  TRY(database.each(
      "SELECT node, started, device, part, boot, cause FROM incident "
      "WHERE started >= ? AND started <= ? ORDER BY started, node",
      [&](const Row& row) {
        const auto node = nodes.find(row.whole(0));
        if (node == nodes.end()) return;
        incidents.push_back(
            {.boot = static_cast<std::size_t>(row.whole(4)),
             .suspects = suspects.of(row.whole(0), row.whole(1), row.text(2), row.maybe_whole(3))});
        charges.emplace_back(node->second.name, row.text(5));
      },
      from, now));
  std::vector<OffenderRow> rows;
  for (const auto& offender : find_offenders(suspects.suspects, incidents)) {
    std::set<std::string> at, causes;
    for (std::size_t i = 0; i < incidents.size(); ++i) {
      if (std::ranges::count(incidents[i].suspects, offender.suspect) == 0) continue;
      at.insert(charges[i].first);
      causes.insert(charges[i].second);
    }
    const auto& suspect = suspects.suspects[offender.suspect];
    rows.push_back({.kind = suspect.kind,
                    .name = suspects.name(offender.suspect),
                    .model = suspects.model(offender.suspect),
                    .nodes = {at.begin(), at.end()},
                    .causes = {causes.begin(), causes.end()},
                    .incidents = offender.incidents,
                    .boots = offender.boots,
                    .days = suspect.exposure_h / 24,
                    .factor = offender.factor,
                    .probability = offender.probability});
  }
  return rows;
}

std::string offender_line(const OffenderRow& row) {
  return fmt::format(
      "{} {}{}: {} in {} and {:.0f} days, {:.0f} times as often as its peers; above 3 "
      "times with {:.0f}%; {} on {}",
      to_string(row.kind), printable(row.name, 100),
      row.model.empty() ? "" : fmt::format(" ({})", row.model),
      counted(static_cast<std::uint64_t>(row.incidents), "incident"),
      counted(static_cast<std::uint64_t>(row.boots), "boot"), row.days, row.factor,
      std::floor(100 * row.probability), fmt::join(row.causes, ", "),
      printable(fold_hostlist(row.nodes), 400));
}

}  // namespace muster::fleet
