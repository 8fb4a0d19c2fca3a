// SPDX-License-Identifier: Apache-2.0
// The forms that a report is asked for in: what --format of every program takes.
#pragma once

#include <string>
#include <string_view>

#include "lib/report/report.hpp"

namespace muster {

enum class Format { text, json, prometheus, junit, npd, nhc };

// In the order of the enumeration.
inline constexpr std::string_view kFormats = "text|json|prometheus|junit|npd|nhc";

// `indent` is of JSON alone: 0 gives one line.
[[nodiscard]] std::string render(const Report& report,
                                 Format format,
                                 const RenderOptions& options,
                                 int indent = 2);

}  // namespace muster
