// SPDX-License-Identifier: Apache-2.0
// `muster fleet odd`: devices that are slower than those of identical nodes, and software that
// differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

struct OddValueRow {
  MUSTER_DESCRIBED(OddValueRow);
  MUSTER_FIELD(std::string, node, "") = {};
  MUSTER_FIELD(std::string, device, "") = {};
  MUSTER_FIELD(std::string, profile, "") = {};
  MUSTER_FIELD(std::string, quantity, "") = {};
  MUSTER_FIELD(std::string, unit, "") = {};
  MUSTER_FIELD(double, value, "its median over the days") = 0;
  MUSTER_FIELD(double, center, "the median of its peers") = 0;
  MUSTER_FIELD(double, limit, "values beyond it are odd") = 0;
  MUSTER_FIELD(double, share, "its distance from the center, as a share of the center") = 0;
};

struct OddFactRow {
  MUSTER_DESCRIBED(OddFactRow);
  MUSTER_FIELD(std::string, profile, "") = {};
  MUSTER_FIELD(std::string, fact, "driver, kernel, gpu firmware") = {};
  MUSTER_FIELD(std::string, value, "") = {};
  MUSTER_FIELD(std::string, usual, "the value on most nodes") = {};
  MUSTER_FIELD(std::vector<std::string>, nodes, "") = {};
};

struct SmallGroup {
  MUSTER_DESCRIBED(SmallGroup);
  MUSTER_FIELD(std::string, profile, "") = {};
  MUSTER_FIELD(std::uint64_t, nodes, "fewer than 8, which is too few to compare") = 0;
};

struct OddAnswer {
  static constexpr std::string_view kSchema = "muster.fleet_odd/1";
  MUSTER_DESCRIBED(OddAnswer);
  MUSTER_FIELD(std::string, from, "the first of 7 days") = {};
  MUSTER_FIELD(std::string, until, "the last day") = {};
  MUSTER_FIELD(std::uint64_t, nodes, "") = 0;
  MUSTER_FIELD(std::uint64_t, values, "number of values that were compared") = 0;
  MUSTER_FIELD(std::vector<OddValueRow>, odd_values, "largest differences first") = {};
  MUSTER_FIELD(std::vector<OddFactRow>, odd_facts, "rarest first") = {};
  MUSTER_FIELD(std::vector<SmallGroup>, too_few, "") = {};
};

[[nodiscard]] Result<OddAnswer> ask_odd(Database& database, const Nodes& nodes);
[[nodiscard]] std::string odd_text(const OddAnswer& answer, std::size_t width);

}  // namespace muster::fleet
