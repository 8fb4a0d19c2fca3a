// SPDX-License-Identifier: Apache-2.0
// The forms that a report is written in. Each is one file in lib/report/formats and one row of
// kFormatTable; --format of every program, its help and its errors come from here.
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
  bool verbose = false;          // plain passes too
  bool quiet = false;            // text: the verdict line and what is not a pass
  bool colour = false;           // text, on a terminal
  std::size_t width = 0;         // text: where long lines wrap; 0 for never
  bool every_iteration = false;  // JSON: the time of each iteration of a measurement
  int indent = 2;                // JSON: 0 for one line
  // Text: checks that are shown whatever came of them, but for a pass when quiet.
  std::span<const std::string_view> always = {};
};

// A complete report in, text out. Each ends with a newline.
[[nodiscard]] std::string to_text(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_json(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_prometheus(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_junit(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_npd(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_nhc(const Report& report, const RenderOptions& options = {});
[[nodiscard]] std::string to_html(const Report& report, const RenderOptions& options = {});

enum class Format { text, json, prometheus, junit, npd, nhc, html };

struct FormatRow {
  Format format;
  std::string_view name;  // what --format takes
  std::string (*render)(const Report&, const RenderOptions&);
  bool one_report = false;  // a document holds one report, so it is not for several snapshots
};

// In the order of the enumeration.
inline constexpr std::array kFormatTable{
    FormatRow{Format::text, "text", to_text},
    FormatRow{Format::json, "json", to_json},
    FormatRow{Format::prometheus, "prometheus", to_prometheus, true},
    FormatRow{Format::junit, "junit", to_junit, true},
    FormatRow{Format::npd, "npd", to_npd},  // one line, at most 80 bytes
    FormatRow{Format::nhc, "nhc", to_nhc},  // one line, safe to be evaluated by NHC
    FormatRow{Format::html, "html", to_html, true},
};

static_assert(std::ranges::is_sorted(kFormatTable, {}, &FormatRow::format));

[[nodiscard]] constexpr const FormatRow& row_of(Format format) {
  return kFormatTable.at(static_cast<std::size_t>(format));
}

// "text|json|...": the words of --format, as help and errors show them.
inline constexpr auto kFormatWords = [] {
  constexpr auto kLength = [] {
    std::size_t length = 0;
    for (const auto& row : kFormatTable) length += row.name.size() + 1;
    return length;
  }();
  std::array<char, kLength> words{};
  auto* end = words.begin();
  for (const auto& row : kFormatTable) {
    end = std::ranges::copy(row.name, end).out;
    *end++ = '|';
  }
  return words;
}();
inline constexpr std::string_view kFormats{kFormatWords.data(), kFormatWords.size() - 1};

}  // namespace muster
