// SPDX-License-Identifier: Apache-2.0
// One statement by a check about one device. Checks and benchmarks both make these; every report
// format renders them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"

namespace muster {

inline constexpr std::array kWorstFirst{Outcome::fail, Outcome::unknown, Outcome::warn,
                                        Outcome::pass, Outcome::skip};

// The place of an outcome among them, from 0.
[[nodiscard]] int rank(Outcome outcome);

using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// A finding of another check, about a device (globs).
struct SeenBy {
  std::string check;
  std::string device;

  bool operator==(const SeenBy&) const = default;
};

struct Finding {
  MUSTER_DESCRIBED(Finding);
  MUSTER_REQUIRED(std::string, check, "id; the runner fills it in");
  MUSTER_REQUIRED(std::string, device,
                  "\"gpu3\", \"mlx5_ib0\", a PCI address, mount point or service; \"node\"");
  MUSTER_REQUIRED(Outcome, outcome, "") = Outcome::unknown;
  MUSTER_REQUIRED(std::string, message, "a printable sentence with the observed value");
  MUSTER_FIELD(Value, observed, "in `unit`"){};
  MUSTER_FIELD(Value, limit, "in `unit`"){};
  MUSTER_FIELD(std::string, unit, ""){};
  MUSTER_REQUIRED(Remedy, remedy, "") = Remedy::none;
  MUSTER_FIELD(std::string, code, "Azure's fault code, if it has one; the runner fills it in"){};
  MUSTER_FIELD(std::string, category, "Azure's impact category, likewise"){};
  // Checks that may see the same fault in their own facts: see checks/run.cpp. Not in JSON.
  std::vector<SeenBy> seen_by{};
};

// A rule that held. A pass with a remedy tells of something that is no fault of the node's and that
// somebody should know, such as a program's own error: reports show it.
[[nodiscard]] bool is_plain_pass(const Finding& finding);

}  // namespace muster
