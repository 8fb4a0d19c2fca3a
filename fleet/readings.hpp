// SPDX-License-Identifier: Apache-2.0
// The values of a quantity by day, for all devices of the nodes that can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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

struct DeviceMedian {
  std::int64_t node = 0;
  std::uint32_t device = 0;  // in Medians::devices
  double value = 0;
};

// The medians over all days of the nodes of one profile.
struct QuantityMedians {
  std::string profile, quantity, unit, conditions;
  Side worse = Side::below;
  std::vector<DeviceMedian> medians;  // by node
};

struct Medians {
  std::vector<std::string> devices;
  std::vector<QuantityMedians> quantities;
};

// Splits [from, until) into parts of whole days with about as many readings, one per processor.
// They are read by connections of their own.
using TimeRange = std::pair<std::int64_t, std::int64_t>;
[[nodiscard]] Result<std::vector<TimeRange>> parts_of(Database& database, std::int64_t from,
                                                      std::int64_t until);

// Calls `make(database, part)` for each part on a thread of its own. Returns the results in order.
template <class Make>
[[nodiscard]] auto make_parts(const Database& database, const std::vector<TimeRange>& parts,
                              const Make& make) {
  using Made = std::invoke_result_t<Make, Database&, const TimeRange&>;
  std::vector<std::future<Made>> pending;
  for (const auto& part : parts) {
    pending.push_back(std::async(std::launch::async, [&]() -> Made {
      TRY_ASSIGN(auto own, database.open_again());
      return make(own, part);
    }));
  }
  std::vector<Made> all;
  for (auto& each : pending) all.push_back(each.get());
  return all;
}

// The same medians as those of read_daily()'s values, in a fraction of its time and memory.
[[nodiscard]] Result<Medians> read_medians(Database& database, const Nodes& nodes,
                                           const ReadingsFilter& filter);

}  // namespace muster::fleet
