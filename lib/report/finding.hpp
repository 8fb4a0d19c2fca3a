// SPDX-License-Identifier: Apache-2.0
// A statement of a check or benchmark about one device.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"

namespace muster {

inline constexpr std::array kWorstFirst{Outcome::fail, Outcome::unknown, Outcome::warn,
                                        Outcome::pass, Outcome::skip};

// The index of an outcome in kWorstFirst.
[[nodiscard]] constexpr int rank(Outcome outcome) {
  return static_cast<int>(std::ranges::find(kWorstFirst, outcome) - kWorstFirst.begin());
}

using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// Empty if the value is not a number.
[[nodiscard]] inline std::optional<double> number_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

// A finding by check and device; both may be globs.
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
  MUSTER_FIELD(std::string, category,
               "Azure's impact category, if it has one; the runner fills it in"){};
  // Checks that may see the same fault in their own facts: see checks/run.cpp. Not in JSON.
  std::vector<SeenBy> seen_by{};
};

// A finding without numbers.
[[nodiscard]] inline Finding make_finding(std::string_view check, std::string device,
                                          Outcome outcome, std::string message,
                                          Remedy remedy = Remedy::none) {
  return {.check = std::string(check),
          .device = std::move(device),
          .outcome = outcome,
          .message = std::move(message),
          .remedy = remedy};
}

// Whether the finding is a pass without a remedy. A pass with one reports something that is not the
// node's fault, such as a program's error, and is shown.
[[nodiscard]] inline bool is_plain_pass(const Finding& finding) {
  return finding.outcome == Outcome::pass && finding.remedy == Remedy::none;
}

}  // namespace muster
