// SPDX-License-Identifier: Apache-2.0
// How findings print themselves when a test fails.
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <variant>

#include "lib/report/finding.hpp"

namespace muster {

inline std::string show(const Value& value) {
  struct Show {
    std::string operator()(std::monostate /*nothing*/) const { return "-"; }

    std::string operator()(bool v) const { return v ? "true" : "false"; }

    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }

    std::string operator()(double v) const { return fmt::format("{}", v); }

    std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
  };

  return std::visit(Show{}, value);
}

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
inline void PrintTo(const Finding& f, std::ostream* out) {
  *out << fmt::format("\n  {} {} {}: {}  [observed {} limit {} unit \"{}\"] remedy {}",
                      to_string(f.outcome), f.check, f.device, f.message, show(f.observed),
                      show(f.limit), f.unit, to_string(f.remedy));
}

}  // namespace muster
