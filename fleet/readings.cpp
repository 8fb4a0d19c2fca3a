// SPDX-License-Identifier: Apache-2.0
#include "fleet/readings.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "lib/base/clock.hpp"

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

class DailyReader {
 public:
  DailyReader(Database& database, const Nodes& nodes, const ReadingsFilter& filter)
      : database_(database), nodes_(nodes), filter_(filter) {
    readings_.first_day = filter.from / kDay_s;
    days_ = static_cast<std::size_t>(
        std::max<std::int64_t>(0, (filter.until + kDay_s - 1) / kDay_s - readings_.first_day));
  }

  Result<DailyReadings> read() {
    TRY(read_layouts());
    const auto add = [this](const Row& row) {
      add_reading(row.whole(0), row.whole(1), row.whole(2), row.text(3));
    };
    if (filter_.run) {
      TRY(
          database_.each("SELECT reading.at, reading.node, layout, vals FROM report "
                         "JOIN reading USING(at, node, sum) WHERE run = ? ORDER BY 1, 2",
                         add, *filter_.run));
    } else {
      TRY(
          database_.each("SELECT at, node, layout, vals FROM reading WHERE at >= ? AND at < ? "
                         "ORDER BY at, node, sum",
                         add, filter_.from, filter_.until));
    }
    end_day();
    return std::move(readings_);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;

  Result<void> read_layouts() {
    std::map<std::string, std::uint32_t, std::less<>> known;
    return database_.each(
        "SELECT layout, device, quantity, unit, conditions FROM position ORDER BY layout, place",
        [&](const Row& row) {
          const auto device =
              known.try_emplace(std::string(row.text(1)), static_cast<std::uint32_t>(known.size()));
          if (device.second) readings_.devices.emplace_back(row.text(1));
          layouts_[row.whole(0)].push_back({.quantity = std::string(row.text(2)),
                                            .unit = std::string(row.text(3)),
                                            .conditions = std::string(row.text(4)),
                                            .device = device.first->second});
        });
  }

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

  // Several values of a day become their median.
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
    const NodeName* name = nullptr;  // null if its values are of no interest
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

  // A node whose layout changed has its series already.
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
  std::unordered_map<std::int64_t, std::vector<LayoutPosition>> layouts_;
  std::map<Key, std::uint32_t> quantities_;
  std::unordered_map<std::int64_t, NodeTargets> targets_;
  std::vector<std::tuple<std::uint32_t, std::uint32_t, float>> more_;  // values of the day
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
  return nodes;
}

std::int64_t newest_of(const Nodes& nodes) {
  std::int64_t newest = 0;
  for (const auto& [id, node] : nodes) newest = std::max(newest, node.last.value_or(0));
  return newest;
}

std::string date_of(std::int64_t time) {
  return utc(std::chrono::sys_seconds(std::chrono::seconds(time))).substr(0, 10);
}

std::optional<Side> worse_side(std::string_view unit, bool is_benchmark) {
  constexpr std::array kRates{"GB/s", "Gb/s", "TFLOPS", "MHz", "GT/s"};
  constexpr std::array kTimes{"ns", "us", "ms", "s"};
  if (std::ranges::find(kRates, unit) != kRates.end()) return Side::below;
  if (unit == "C") return Side::above;
  // A check's time is that of a rare event, such as a mount that is slow to answer.
  if (is_benchmark && std::ranges::find(kTimes, unit) != kTimes.end()) return Side::above;
  return std::nullopt;
}

float QuantityReadings::at(std::size_t day, std::size_t of) const {
  return of < days[day].size() ? days[day][of] : kNone;
}

Result<DailyReadings> read_daily(Database& database, const Nodes& nodes,
                                 const ReadingsFilter& filter) {
  return DailyReader(database, nodes, filter).read();
}

std::vector<std::optional<double>> medians_of(const QuantityReadings& readings) {
  std::vector<std::optional<double>> medians(readings.series.size());
  std::vector<double> values;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    values.clear();
    for (std::size_t day = 0; day < readings.days.size(); ++day) {
      const float value = readings.at(day, i);
      if (!std::isnan(value)) values.push_back(static_cast<double>(value));
    }
    if (!values.empty()) medians[i] = median_of(values);
  }
  return medians;
}

}  // namespace muster::fleet
