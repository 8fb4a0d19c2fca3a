// SPDX-License-Identifier: Apache-2.0
#include "fleet/readings.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/in_order.hpp"
#include "lib/base/text.hpp"

namespace muster::fleet {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t kNotCompared = std::numeric_limits<std::uint32_t>::max();

// Where a value of a layout goes, for one node.
struct Target {
  std::uint32_t quantity = kNotCompared;
  std::uint32_t series = 0;
};

struct LayoutPosition {
  std::string quantity, unit, conditions;
  std::uint32_t device = 0;
};

using Layouts = std::unordered_map<std::int64_t, std::vector<LayoutPosition>>;

Result<Layouts> read_layouts(Database& database, std::vector<std::string>& devices) {
  Layouts layouts;
  std::map<std::string, std::uint32_t, std::less<>> known;
  TRY(database.each(
      "SELECT layout, device, quantity, unit, conditions FROM position ORDER BY layout, place",
      [&](const Row& row) {
        const auto device =
            known.try_emplace(std::string(row.text(1)), static_cast<std::uint32_t>(known.size()));
        if (device.second) devices.emplace_back(row.text(1));
        layouts[row.whole(0)].push_back({.quantity = std::string(row.text(2)),
                                         .unit = std::string(row.text(3)),
                                         .conditions = std::string(row.text(4)),
                                         .device = device.first->second});
      }));
  return layouts;
}

// Calls `visit` with at, node, layout and vals of each reading, in order of time.
template <class Visit>
Result<void> each_reading(Database& database, const ReadingsFilter& filter, const Visit& visit) {
  if (filter.run) {
    return database.each(
        "SELECT reading.at, reading.node, layout, vals FROM report "
        "JOIN reading USING(at, node, sum) WHERE run = ? ORDER BY 1, 2",
        visit, *filter.run);
  }
  return database.each(
      "SELECT at, node, layout, vals FROM reading WHERE at >= ? AND at < ? "
      "ORDER BY at, node, sum",
      visit, filter.from, filter.until);
}

class DailyReader {
 public:
  DailyReader(Database& database, const Nodes& nodes, const ReadingsFilter& filter)
      : database_(database), nodes_(nodes), filter_(filter) {
    readings_.first_day = filter.from / kDay_s;
    days_ = static_cast<std::size_t>(
        std::max<std::int64_t>(0, (filter.until + kDay_s - 1) / kDay_s - readings_.first_day));
  }

  Result<DailyReadings> read() {
    TRY_ASSIGN(layouts_, read_layouts(database_, readings_.devices));
    TRY(each_reading(database_, filter_, [this](const Row& row) {
      add_reading(row.whole(0), row.whole(1), row.whole(2), row.text(3));
    }));
    end_day();
    return std::move(readings_);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;

  void add_reading(std::int64_t at, std::int64_t node, std::int64_t layout, std::string_view vals) {
    auto& of_node = node_of(node);
    if (of_node.name == nullptr) return;
    const auto day = at / kDay_s - readings_.first_day;
    if (day < 0 || static_cast<std::size_t>(day) >= days_) return;
    if (static_cast<std::size_t>(day) != day_) {
      end_day();
      day_ = static_cast<std::size_t>(day);
    }
    const auto& targets = targets_of(of_node, node, layout);
    const auto count = std::min(targets.size(), vals.size() / sizeof(float));
    for (std::size_t i = 0; i < count; ++i) {
      if (targets[i].quantity == kNotCompared) continue;
      float value = 0;
      std::memcpy(&value, vals.data() + i * sizeof value, sizeof value);
      put(targets[i], value);
    }
  }

  void put(const Target& target, float value) {
    auto& row = readings_.quantities[target.quantity].days[day_];
    if (target.series >= row.size()) {
      row.resize(readings_.quantities[target.quantity].series.size(), kNone);
    }
    auto& cell = row[target.series];
    if (std::isnan(cell)) {
      cell = value;
    } else {
      more_.emplace_back(target.quantity, target.series, value);
    }
  }

  // Replaces several values of one day by their median.
  void end_day() {
    std::ranges::sort(more_);
    for (std::size_t begin = 0; begin < more_.size();) {
      const auto [quantity, series, first] = more_[begin];
      auto& cell = readings_.quantities[quantity].days[day_][series];
      std::vector<double> values{static_cast<double>(cell)};
      for (; begin < more_.size() && std::get<0>(more_[begin]) == quantity &&
             std::get<1>(more_[begin]) == series;
           ++begin) {
        values.push_back(static_cast<double>(std::get<2>(more_[begin])));
      }
      cell = static_cast<float>(median_of(std::move(values)));
    }
    more_.clear();
  }

  struct NodeTargets {
    const NodeName* name = nullptr;  // null if its values are not needed
    std::vector<std::pair<std::int64_t, std::vector<Target>>> by_layout;
  };

  NodeTargets& node_of(std::int64_t node) {
    const auto [known, is_new] = targets_.try_emplace(node);
    if (!is_new) return known->second;
    const auto name = nodes_.find(node);
    if (name != nodes_.end() && (!filter_.is_of || filter_.is_of(node))) {
      known->second.name = &name->second;
    }
    return known->second;
  }

  const std::vector<Target>& targets_of(NodeTargets& of_node, std::int64_t node,
                                        std::int64_t layout) {
    for (const auto& [known, targets] : of_node.by_layout) {
      if (known == layout) return targets;
    }
    const auto& positions = layouts_[layout];
    std::vector<Target> targets(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto quantity = quantity_of(of_node.name->profile, positions[i]);
      if (quantity == kNotCompared) continue;
      targets[i] = {quantity, series_of(of_node, quantity, node, positions[i].device)};
    }
    return of_node.by_layout.emplace_back(layout, std::move(targets)).second;
  }

  std::uint32_t quantity_of(const std::string& profile, const LayoutPosition& position) {
    const auto worse = worse_side(position.unit, !position.conditions.empty());
    if (!worse) return kNotCompared;
    const auto [known, is_new] =
        quantities_.try_emplace(Key(profile, position.quantity, position.unit, position.conditions),
                                static_cast<std::uint32_t>(readings_.quantities.size()));
    if (is_new) {
      readings_.quantities.push_back({.profile = profile,
                                      .quantity = position.quantity,
                                      .unit = position.unit,
                                      .conditions = position.conditions,
                                      .worse = *worse,
                                      .series = {},
                                      .days = std::vector<std::vector<float>>(days_)});
    }
    return known->second;
  }

  // A node whose layout has changed already has its series.
  std::uint32_t series_of(const NodeTargets& of_node, std::uint32_t quantity, std::int64_t node,
                          std::uint32_t device) {
    auto& series = readings_.quantities[quantity].series;
    for (const auto& [layout, targets] : of_node.by_layout) {
      for (const auto& target : targets) {
        if (target.quantity == quantity && series[target.series].device == device) {
          return target.series;
        }
      }
    }
    series.push_back({.node = node, .device = device});
    return static_cast<std::uint32_t>(series.size() - 1);
  }

  Database& database_;
  const Nodes& nodes_;
  const ReadingsFilter& filter_;
  DailyReadings readings_;
  std::size_t days_ = 0;
  std::size_t day_ = 0;
  Layouts layouts_;
  std::map<Key, std::uint32_t> quantities_;
  std::unordered_map<std::int64_t, NodeTargets> targets_;
  std::vector<std::tuple<std::uint32_t, std::uint32_t, float>> more_;  // more values of the day
};

// Adds the days of a later part, whose series may be numbered differently.
void append_days(DailyReadings& all, DailyReadings part) {
  // All layouts share their list of devices. A concurrent import may have added some at the end.
  if (part.devices.size() > all.devices.size()) all.devices = std::move(part.devices);
  const auto key_of = [](const QuantityReadings& each) {
    return std::tie(each.profile, each.quantity, each.unit, each.conditions);
  };
  const auto days_before = static_cast<std::size_t>(part.first_day - all.first_day);
  const auto days_of_part = part.quantities.empty() ? 0 : part.quantities[0].days.size();
  for (auto& later : part.quantities) {
    auto known = std::ranges::find_if(all.quantities, [&](const QuantityReadings& each) {
      return key_of(each) == key_of(later);
    });
    if (known == all.quantities.end()) {
      later.days.insert(later.days.begin(), days_before, {});
      all.quantities.push_back(std::move(later));
      continue;
    }
    std::map<std::pair<std::int64_t, std::uint32_t>, std::size_t> places;
    for (std::size_t i = 0; i < known->series.size(); ++i) {
      places.try_emplace({known->series[i].node, known->series[i].device}, i);
    }
    std::vector<std::size_t> place_of;
    for (const auto& series : later.series) {
      const auto [place, is_new] =
          places.try_emplace({series.node, series.device}, known->series.size());
      if (is_new) known->series.push_back(series);
      place_of.push_back(place->second);
    }
    for (const auto& day : later.days) {
      auto& row = known->days.emplace_back(day.empty() ? 0 : known->series.size(), kNone);
      for (std::size_t i = 0; i < day.size(); ++i) row[place_of[i]] = day[i];
    }
  }
  for (auto& quantity : all.quantities) quantity.days.resize(days_before + days_of_part);
}

// Keeps the blobs of all readings, then computes the medians node by node on all processors.
class MedianReader {
 public:
  MedianReader(Database& database, const Nodes& nodes, const ReadingsFilter& filter)
      : database_(database), nodes_(nodes), filter_(filter) {}

  Result<Medians> read() {
    TRY_ASSIGN(const auto layouts, read_layouts(database_, medians_.devices));
    for (const auto& [layout, positions] : layouts) {
      auto& slots = slots_[layout];
      for (const auto& position : positions) slots.push_back(slot_of(position));
    }
    TRY(each_reading(database_, filter_, [this](const Row& row) {
      const auto node = row.whole(1);
      const auto slots = slots_.find(row.whole(2));
      if (slots == slots_.end() || !nodes_.contains(node)) return;
      if (filter_.is_of && !filter_.is_of(node)) return;
      const auto vals = row.text(3);
      readings_.push_back({node, row.whole(0) / kDay_s, &slots->second, bytes_.size(),
                           std::min(vals.size() / sizeof(float), slots->second.size())});
      bytes_ += vals;
    }));
    std::ranges::stable_sort(readings_, {}, &Reading::node);
    take_medians();
    return std::move(medians_);
  }

 private:
  // A quantity of one device.
  struct Slot {
    LayoutPosition position;
    Side worse = Side::below;
  };

  using Slots = std::vector<std::uint32_t>;  // by position; kNotCompared for some

  struct Reading {
    std::int64_t node, day;
    const Slots* slots;
    std::size_t offset, count;  // where its values are in bytes_
  };

  struct Found {
    std::int64_t node;
    std::uint32_t slot;
    double median;
  };

  std::uint32_t slot_of(const LayoutPosition& position) {
    const auto worse = worse_side(position.unit, !position.conditions.empty());
    if (!worse) return kNotCompared;
    const auto [known, is_new] = known_.try_emplace(
        std::tuple(position.quantity, position.unit, position.conditions, position.device),
        static_cast<std::uint32_t>(known_.size()));
    if (is_new) found_slots_.push_back({position, *worse});
    return known->second;
  }

  void take_medians() {
    constexpr std::size_t kAtOnce = 512;  // readings
    std::vector<std::size_t> begins{0};   // of nodes
    for (std::size_t i = kAtOnce; i < readings_.size(); i += kAtOnce) {
      while (i < readings_.size() && readings_[i].node == readings_[i - 1].node) ++i;
      if (i < readings_.size()) begins.push_back(i);
    }
    begins.push_back(readings_.size());
    make_in_order(
        begins.size() - 1, std::thread::hardware_concurrency(),
        [&](std::size_t i) {
          return medians_in(std::span(readings_).subspan(begins[i], begins[i + 1] - begins[i]));
        },
        [&](const std::vector<Found>& found) {
          for (const auto& each : found) add(each);
          return true;
        });
  }

  [[nodiscard]] std::vector<Found> medians_in(std::span<const Reading> readings) const {
    using DayValue = std::pair<std::int64_t, float>;
    std::vector<std::vector<DayValue>> values(found_slots_.size());
    std::vector<Found> found;
    for (std::size_t begin = 0, end = 0; begin < readings.size(); begin = end) {
      for (; end < readings.size() && readings[end].node == readings[begin].node; ++end) {
        const auto& reading = readings[end];
        for (std::size_t i = 0; i < reading.count; ++i) {
          const auto slot = (*reading.slots)[i];
          if (slot == kNotCompared) continue;
          float value = 0;
          std::memcpy(&value, bytes_.data() + reading.offset + i * sizeof value, sizeof value);
          if (!std::isnan(value)) values[slot].emplace_back(reading.day, value);
        }
      }
      for (std::uint32_t slot = 0; slot < values.size(); ++slot) {
        if (values[slot].empty()) continue;
        found.push_back({readings[begin].node, slot, median_of_days(values[slot])});
        values[slot].clear();
      }
    }
    return found;
  }

  // Several values of one day count as their median. The days are in order.
  template <class DayValues>
  static double median_of_days(const DayValues& values) {
    std::vector<double> days, of_day;
    for (std::size_t i = 0; i < values.size(); ++i) {
      of_day.push_back(static_cast<double>(values[i].second));
      if (i + 1 < values.size() && values[i + 1].first == values[i].first) continue;
      days.push_back(of_day.size() == 1 ? of_day[0]
                                        : static_cast<double>(static_cast<float>(
                                              median_of(std::exchange(of_day, {})))));
      of_day.clear();
    }
    return median_of(std::move(days));
  }

  void add(const Found& found) {
    const auto& slot = found_slots_[found.slot];
    if (found.node != node_) {
      node_ = found.node;
      auto& places = places_[nodes_.at(node_).profile];
      places.resize(found_slots_.size(), kNotCompared);
      of_node_ = &places;
    }
    auto& place = (*of_node_)[found.slot];
    if (place == kNotCompared) place = place_of(nodes_.at(node_).profile, slot);
    medians_.quantities[place].medians.push_back({node_, slot.position.device, found.median});
  }

  std::uint32_t place_of(const std::string& profile, const Slot& slot) {
    const auto& [quantity, unit, conditions, device] = slot.position;
    const auto [known, is_new] =
        quantities_.try_emplace(std::tuple(profile, quantity, unit, conditions),
                                static_cast<std::uint32_t>(medians_.quantities.size()));
    if (is_new) {
      medians_.quantities.push_back({.profile = profile,
                                     .quantity = quantity,
                                     .unit = unit,
                                     .conditions = conditions,
                                     .worse = slot.worse,
                                     .medians = {}});
    }
    return known->second;
  }

  Database& database_;
  const Nodes& nodes_;
  const ReadingsFilter& filter_;
  Medians medians_;
  std::map<std::tuple<std::string, std::string, std::string, std::uint32_t>, std::uint32_t> known_;
  std::vector<Slot> found_slots_;
  std::unordered_map<std::int64_t, Slots> slots_;  // by layout
  std::vector<Reading> readings_;
  std::string bytes_;
  // Indices in medians_.quantities, by profile and slot.
  std::map<std::string, Slots> places_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::uint32_t>
      quantities_;
  std::int64_t node_ = -1;
  Slots* of_node_ = nullptr;
};

}  // namespace

Result<Nodes> read_nodes(Database& database, std::string_view cluster) {
  Nodes nodes;
  TRY(database.each(
      "SELECT id, name, profile, last, cluster, verdict FROM node WHERE ?1 = '' OR cluster = ?1",
      [&](const Row& row) {
        nodes[row.whole(0)] = {.name = std::string(row.text(1)),
                               .profile = std::string(row.text(2)),
                               .cluster = std::string(row.text(4)),
                               .verdict = std::string(row.text(5)),
                               .last = row.maybe_whole(3)};
      },
      cluster));
  if (!cluster.empty() && nodes.empty()) {
    return make_missing("cluster {}: the store has no node of it", printable(cluster, 80));
  }
  return nodes;
}

std::int64_t newest_of(const Nodes& nodes) {
  std::vector<std::int64_t> times;
  for (const auto& [id, node] : nodes) times.push_back(node.last.value_or(0));
  std::ranges::sort(times);
  if (times.empty()) return 0;
  const auto now = std::max(wall_time().time_since_epoch().count(), times[times.size() / 2]);
  const auto ahead = std::ranges::upper_bound(times, now + kDay_s);
  return ahead == times.begin() ? 0 : *std::prev(ahead);
}

std::string date_of(std::int64_t time) { return utc(time).substr(0, 10); }

std::optional<Side> worse_side(std::string_view unit, bool is_benchmark) {
  constexpr std::array kRates{"GB/s", "Gb/s", "TFLOPS", "MHz", "GT/s"};
  constexpr std::array kTimes{"ns", "us", "ms", "s"};
  if (std::ranges::find(kRates, unit) != kRates.end()) return Side::below;
  if (unit == "C") return Side::above;
  // The time that a check takes shows rare events, such as a mount that is slow to answer.
  if (is_benchmark && std::ranges::find(kTimes, unit) != kTimes.end()) return Side::above;
  return std::nullopt;
}

float QuantityReadings::at(std::size_t day, std::size_t of) const {
  return of < days[day].size() ? days[day][of] : kNone;
}

Result<std::vector<TimeRange>> parts_of(Database& database, std::int64_t from, std::int64_t until) {
  const std::int64_t most = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  TRY_ASSIGN(const auto oldest, database.whole("SELECT min(at) FROM reading"));
  TRY_ASSIGN(const auto newest, database.whole("SELECT max(at) FROM reading"));
  const auto begin = std::max(from, oldest.value_or(from));
  const auto days = (std::min(until, newest.value_or(from) + 1) - begin) / kDay_s;
  std::vector<TimeRange> parts;
  for (std::int64_t i = 1, last = from; i <= most; ++i) {
    auto end = begin / kDay_s * kDay_s + days * i / most * kDay_s;
    if (i == most) end = until;
    if (end > last) parts.emplace_back(std::exchange(last, end), end);
  }
  return parts;
}

Result<DailyReadings> read_daily(Database& database, const Nodes& nodes,
                                 const ReadingsFilter& filter) {
  if (filter.run) return DailyReader(database, nodes, filter).read();
  TRY_ASSIGN(const auto parts, parts_of(database, filter.from, filter.until));
  auto made = make_parts(database, parts, [&](Database& own, const TimeRange& part) {
    auto of_part = filter;
    std::tie(of_part.from, of_part.until) = part;
    return DailyReader(own, nodes, of_part).read();
  });
  DailyReadings all;
  all.first_day = filter.from / kDay_s;
  for (auto& each : made) {
    if (!each) return tl::unexpected(each.error());
    append_days(all, *std::move(each));
  }
  return all;
}

Result<Medians> read_medians(Database& database, const Nodes& nodes, const ReadingsFilter& filter) {
  return MedianReader(database, nodes, filter).read();
}

}  // namespace muster::fleet
