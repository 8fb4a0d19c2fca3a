// SPDX-License-Identifier: Apache-2.0
// The values of a quantity by day, for all devices of the nodes that can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fleet/sqlite.hpp"
#include "lib/base/result.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::fleet {

inline constexpr std::int64_t kDay_s = 86'400;

struct NodeName {
  std::string name, profile, cluster, verdict;
  std::optional<std::int64_t> last;  // report
};

// By id; of a cluster, or of all for an empty name.
using Nodes = std::map<std::int64_t, NodeName>;
[[nodiscard]] Result<Nodes> read_nodes(Database& database, std::string_view cluster);

// The time of the newest report; 0 without any.
[[nodiscard]] std::int64_t newest_of(const Nodes& nodes);

// "2026-11-20".
[[nodiscard]] std::string date_of(std::int64_t time);

// The side on which a quantity is worse; empty if that is unknown, as for counts and settings.
[[nodiscard]] std::optional<Side> worse_side(std::string_view unit, bool is_benchmark);

// The nodes of one profile, by day.
struct QuantityReadings {
  struct Device {
    std::int64_t node = 0;
    std::uint32_t device = 0;  // in DailyReadings::devices
  };

  std::string profile, quantity, unit, conditions;
  Side worse = Side::below;
  std::vector<Device> series;
  std::vector<std::vector<float>> days;  // a row may be shorter, since series are found by and by

  // NaN if there is none.
  [[nodiscard]] float at(std::size_t day, std::size_t of) const;
};

struct DailyReadings {
  std::int64_t first_day = 0;  // since 1970
  std::vector<std::string> devices;
  std::vector<QuantityReadings> quantities;

  [[nodiscard]] std::int64_t time(std::size_t day) const {
    return (first_day + static_cast<std::int64_t>(day)) * kDay_s;
  }
  [[nodiscard]] std::string date(std::size_t day) const { return date_of(time(day)); }
};

struct ReadingsFilter {
  std::int64_t from = 0, until = 0;                // times; the last one is not included
  std::function<bool(std::int64_t node)> is_of{};  // all nodes without it
  std::optional<std::int64_t> run{};               // only reports of this acceptance
};

// Several values of a day count as their median. Only quantities with a side that is worse.
[[nodiscard]] Result<DailyReadings> read_daily(Database& database, const Nodes& nodes,
                                               const ReadingsFilter& filter);

// The medians over all days by node and device; series without a value have none.
[[nodiscard]] std::vector<std::optional<double>> medians_of(const QuantityReadings& readings);

}  // namespace muster::fleet
