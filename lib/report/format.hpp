// SPDX-License-Identifier: Apache-2.0
// The output formats of a report. Each has a file in lib/report/formats and a row in kFormatTable,
// from which --format, its help and its errors are made.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lib/report/report.hpp"

namespace muster {

struct RenderOptions {
  bool verbose = false;          // with plain passes
  bool quiet = false;            // text: only the verdict and findings that are not passes
  bool colour = false;           // text, on a terminal
  std::size_t width = 0;         // text: the length of lines; 0 for unlimited
  bool all_values = false;       // Prometheus: also values that other exporters have
  bool every_iteration = false;  // JSON: the time of each iteration of a measurement
  int indent = 2;                // JSON: 0 for one line
  // Text: checks that are always shown, except for passes if quiet.
  std::span<const std::string_view> always = {};
};

// Each renders a report, with a newline at the end.
[[nodiscard]] std::string to_text(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_json(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_prometheus(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_junit(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_npd(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_nhc(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_html(const Report& report, const RenderOptions& options = {});

// Each joins the documents of several nodes.
[[nodiscard]] std::string join_prometheus(const std::vector<std::string>& documents);
[[nodiscard]] std::string join_junit(const std::vector<std::string>& documents);
[[nodiscard]] std::string join_html(const std::vector<std::string>& documents);

enum class Format { text, json, prometheus, junit, npd, nhc, html, npd_undecided };

struct FormatRow {
  Format format;
  std::string_view name;  // for --format
  std::string (*render)(const Report&, const RenderOptions&);
  // Null if documents only follow each other.
  std::string (*join)(const std::vector<std::string>&) = nullptr;
};

// In the order of the enumeration.
inline constexpr std::array kFormatTable{
    FormatRow{Format::text, "text", to_text},
    FormatRow{Format::json, "json", to_json},
    FormatRow{Format::prometheus, "prometheus", to_prometheus, join_prometheus},
    FormatRow{Format::junit, "junit", to_junit, join_junit},
    FormatRow{Format::npd, "npd", to_npd},  // one line, at most 80 bytes
    FormatRow{Format::nhc, "nhc", to_nhc},  // one line that NHC can safely evaluate
    FormatRow{Format::html, "html", to_html, join_html},
    FormatRow{Format::npd_undecided, "npd_undecided", to_npd},
};

static_assert(std::ranges::is_sorted(kFormatTable, {}, &FormatRow::format));

[[nodiscard]] constexpr const FormatRow& row_of(Format format) {
  return kFormatTable.at(static_cast<std::size_t>(format));
}

// The words of --format.
inline constexpr std::string_view kFormats = "text|json|prometheus|junit|npd|nhc|html";
inline constexpr std::string_view kCheckFormats =
    "text|json|prometheus|junit|npd|nhc|html|npd_undecided";

[[nodiscard]] constexpr bool is_for_npd(Format format) {
  return format == Format::npd || format == Format::npd_undecided;
}

// The exit status of a check in this format. A plug-in of node-problem-detector answers whether its
// condition holds: 0 for no, 1 for yes. Other statuses are Unknown, which its metrics show as
// healthy, so that "could not decide" is a separate condition.
[[nodiscard]] constexpr int status_in(Format format, int status) {
  if (format != Format::npd_undecided) return status;
  return status == kExitHealthy || status == kExitUnhealthy ? 0 : 1;
}

inline constexpr std::size_t kNpdOutput = 80;  // node-problem-detector keeps this many bytes

}  // namespace muster
