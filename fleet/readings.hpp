// SPDX-License-Identifier: Apache-2.0
// The daily values of a quantity, for all devices of the nodes that can be compared.
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
  std::optional<std::int64_t> last;  // time of the last report
};

// A smaller group of nodes cannot be compared, and says nothing about the fleet.
inline constexpr std::size_t kFewestNodes = 8;

// The nodes of a cluster, or of all clusters if its name is empty, by id.
using Nodes = std::map<std::int64_t, NodeName>;
// An error if the store has no node of the cluster.
[[nodiscard]] Result<Nodes> read_nodes(Database& database, std::string_view cluster);

// Returns the time of the newest report; 0 if there is none. Nodes whose clocks are ahead of the
// present, and of half of all nodes, do not count.
[[nodiscard]] std::int64_t newest_of(const Nodes& nodes);

// Formats a time as "2026-11-20".
[[nodiscard]] std::string date_of(std::int64_t time);

// Returns the side on which a quantity is worse; empty if that is unknown, as for counts and
// settings.
[[nodiscard]] std::optional<Side> worse_side(std::string_view unit, bool is_benchmark);

// The daily values of one quantity on all nodes of one profile.
struct QuantityReadings {
  struct Device {
    std::int64_t node = 0;
    std::uint32_t device = 0;  // index in DailyReadings::devices
  };

  std::string profile, quantity, unit, conditions;
  Side worse = Side::below;
  std::vector<Device> series;
  std::vector<std::vector<float>> days;  // early rows are shorter if a series begins later

  // Returns NaN for a missing value.
  [[nodiscard]] float at(std::size_t day, std::size_t of) const;
};

struct DailyReadings {
  std::int64_t first_day = 0;  // days since 1970
  std::vector<std::string> devices;
  std::vector<QuantityReadings> quantities;

  [[nodiscard]] std::int64_t time(std::size_t day) const {
    return (first_day + static_cast<std::int64_t>(day)) * kDay_s;
  }
  [[nodiscard]] std::string date(std::size_t day) const { return date_of(time(day)); }
};

struct ReadingsFilter {
  std::int64_t from = 0, until = 0;                // times; `until` is not included
  std::function<bool(std::int64_t node)> is_of{};  // selects nodes; empty: all
  std::optional<std::int64_t> run{};               // only reports of this acceptance
};

// Reads quantities that have a worse side. Several values of one day count as their median.
[[nodiscard]] Result<DailyReadings> read_daily(Database& database, const Nodes& nodes,
                                               const ReadingsFilter& filter);

struct DeviceMedian {
  std::int64_t node = 0;
  std::uint32_t device = 0;  // index in Medians::devices
  double value = 0;
};

// The medians of one quantity over all days, for the nodes of one profile.
struct QuantityMedians {
  std::string profile, quantity, unit, conditions;
  Side worse = Side::below;
  std::vector<DeviceMedian> medians;  // by node
};

struct Medians {
  std::vector<std::string> devices;
  std::vector<QuantityMedians> quantities;
};

// Splits [from, until) into one part per processor, each of whole days and with about the same
// number of readings. Each part is read through its own connection.
using TimeRange = std::pair<std::int64_t, std::int64_t>;
[[nodiscard]] Result<std::vector<TimeRange>> parts_of(Database& database, std::int64_t from,
                                                      std::int64_t until);

// Calls `make(database, part)` for each part on its own thread. Returns the results in order.
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

// Returns the medians of the values that read_daily() returns, in a fraction of its time and
// memory.
[[nodiscard]] Result<Medians> read_medians(Database& database, const Nodes& nodes,
                                           const ReadingsFilter& filter);

}  // namespace muster::fleet
