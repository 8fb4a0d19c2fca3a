// SPDX-License-Identifier: Apache-2.0
// One statement by a check about one device. Checks and benchmarks both make these; every report
// format renders them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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
  std::string check;  // filled in by the runner
  std::string
      device;  // "gpu3", "mlx5_ib0", a PCI address, a mount point, a service; "node" for the whole
  Outcome outcome = Outcome::unknown;
  std::string message;  // a sentence with the observed value; printable, one line
  Value observed{};
  Value limit{};
  std::string unit{};
  Remedy remedy = Remedy::none;
  std::string code{};      // Azure's fault code, where one exists; filled in by the runner
  std::string category{};  // Azure's impact category, likewise
  // Who may see the same fault in facts of their own: see checks/run.cpp. Never written out.
  std::vector<SeenBy> seen_by{};

  bool operator==(const Finding&) const = default;
};

// A rule that held. A pass with a remedy tells of something that is no fault of the node's and that
// somebody should know, such as a program's own error: reports show it.
[[nodiscard]] bool is_plain_pass(const Finding& finding);

}  // namespace muster
