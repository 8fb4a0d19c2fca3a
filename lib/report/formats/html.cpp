// SPDX-License-Identifier: Apache-2.0
// One page for a browser, without scripts, network or other files; it fits a telephone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "lib/report/formats/page.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

// The data is the JSON document of a report with what to_html() adds to it.
constexpr std::string_view kPage = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>muster: {{node}} is {{verdict}}</title>
<style>
:root{color-scheme:light dark;--line:#8884;--dim:#777;--fail:#c62828;--warn:#b26a00;--unknown:#7b3fa0;--pass:#2e7d32;--skip:#777}
*{box-sizing:border-box}
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:72rem;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
.badge{color:#fff;border-radius:.3rem;padding:.05rem .5rem;font-size:.85em;white-space:nowrap}
.fail{background:var(--fail)}.warn{background:var(--warn)}.unknown{background:var(--unknown)}
.pass{background:var(--pass)}.skip{background:var(--skip)}
.dim{color:var(--dim)}
table{border-collapse:collapse;width:100%}
th{text-align:left;font-weight:600}th,td{padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.name,td.remedy{overflow-wrap:normal}td.remedy{min-width:7rem}
figure{margin:0}figcaption{margin-bottom:.4rem}
svg{display:block;width:100%;height:auto}svg text{fill:currentColor;font-family:system-ui,sans-serif}
.bar{display:flex;height:1.8rem;border-radius:.3rem;overflow:hidden}
ul.parts{list-style:none;padding:0;margin:.4rem 0}
ul.parts i{display:inline-block;width:.8em;height:.8em;border-radius:.15em;margin-right:.5em}
@media(max-width:40rem){
thead{display:none}tr{display:block;border-bottom:1px solid var(--line);padding:.5rem 0}
td{display:block;border:0;padding:.1rem 0}td.number{text-align:left}
}
</style>
</head>
<body>
<header>
<h1>{{#of_job}}Job on {{/of_job}}{{node}}{{^node}}(no name){{/node}} <span class="badge {{verdict_class}}">{{verdict}}</span></h1>
{{#header}}
<div>{{.}}</div>
{{/header}}
<div class="dim">{{summary}}</div>
</header>
{{#found}}
<h2>Findings</h2>
<table>
<thead><tr><th></th><th>check</th><th>device</th><th>what was found</th><th>what to do</th></tr></thead>
<tbody>
{{#rows}}
<tr><td><span class="badge {{outcome}}">{{outcome}}</span></td><td class="name">{{check}}</td><td class="name">{{device}}</td><td>{{message}}{{#code}} <span class="dim">[{{code}}]</span>{{/code}}</td><td class="remedy">{{action}}</td></tr>
{{/rows}}
</tbody>
</table>
{{/found}}
{{#pictures}}
<h2>Pictures</h2>
{{#breakdowns}}
<figure>
<figcaption>{{title}}</figcaption>
<div class="bar">{{#parts}}<span style="flex:{{share}};background:{{colour}}" title="{{what}}"></span>{{/parts}}</div>
<ul class="parts">
{{#parts}}
<li><i style="background:{{colour}}"></i>{{value}} {{unit}} {{what}}</li>
{{/parts}}
</ul>
</figure>
{{/breakdowns}}
{{#matrices}}
<figure>
<figcaption>{{title}}</figcaption>
{{#too_many}}
<div class="dim">{{too_many}} are too many to draw.</div>
{{/too_many}}
{{^too_many}}
<svg viewBox="0 0 {{width}} {{height}}" role="img" aria-label="{{title}}" style="max-width:{{pixels}}px">
{{#rows}}
<text x="0" y="{{y}}" font-size=".72">{{name}}</text>
{{#cells}}
<rect x="{{x}}" y="{{y}}" width=".94" height=".94" fill="{{colour}}"><title>{{row}} - {{column}}: {{value}}</title></rect>
{{/cells}}
{{/rows}}
</svg>
<div class="dim">Green: {{usual}} {{unit}} and near it; red: 60% of that or {{worse}}; black: did not finish; columns are in the order of the rows.</div>
{{/too_many}}
</figure>
{{/matrices}}
{{/pictures}}
{{#gaps}}
<h2>Not observed</h2>
<table>
<tbody>
{{#rows}}
<tr><td class="name">{{what}}</td><td>{{reason}}{{#required}}: required for a verdict{{/required}}</td></tr>
{{/rows}}
</tbody>
</table>
{{/gaps}}
{{#measured}}
<h2>Measurements</h2>
<table>
<thead><tr><th>quantity</th><th>value</th><th>of</th></tr></thead>
<tbody>
{{#rows}}
<tr><td class="name">{{quantity}}</td><td class="number">{{shown}} {{unit}}</td><td>{{subject}}</td></tr>
{{/rows}}
</tbody>
</table>
{{/measured}}
</body>
</html>
)";

std::string_view class_of(Verdict verdict) {
  if (verdict == Verdict::healthy) return "pass";
  return verdict == Verdict::unhealthy ? "fail" : "unknown";
}

// A table with these rows; nothing if there are none.
Json table_of(Json rows) { return rows.empty() ? Json() : Json{{"rows", std::move(rows)}}; }

Json header_of(const Report& report) {
  auto lines = Json::array();
  if (!report.accused.empty()) {
    lines.push_back(fmt::format("Accused: {}", fmt::join(report.accused, ", ")));
  } else if (!report.nodes.empty() && report.verdict == Verdict::unhealthy) {
    lines.push_back("No node is accused.");
  }
  if (auto why = why_undecided(report); !why.empty()) lines.push_back(std::move(why));
  return lines;
}

std::string summary_of(const Report& report) {
  const auto snapshot =
      report.snapshot.empty() ? "" : fmt::format("; snapshot {}", report.snapshot);
  return fmt::format("{} in {:.1f} ms, {}; {}; profile {}; context {}{}; muster {}",
                     number_of_checks(report), report.duration_ms, report.started, coverage(report),
                     report.profile, report.context, snapshot, report.muster);
}

Json findings_of(const Report& report, const Json& document, const RenderOptions& options) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const auto& finding = report.findings[i];
    const bool worth_showing =
        rank(finding.outcome) <= rank(Outcome::pass) && !is_plain_pass(finding);
    if (options.verbose || worth_showing) shown.push_back(i);
  }
  std::ranges::stable_sort(shown, {},
                           [&](std::size_t i) { return rank(report.findings[i].outcome); });
  auto rows = Json::array();
  for (const auto i : shown) {
    rows.push_back(document["findings"][i]);
    rows.back()["device"] = printable(report.findings[i].device, 120);
    rows.back()["action"] = describe(report.findings[i].remedy);
  }
  return table_of(std::move(rows));
}

std::string subject_of(const MeasurementConditions& on) {
  std::vector<std::string> words;
  for (const auto& word : {on.test, on.device, on.collective, on.type, on.reduction, on.placement,
                           on.backend, on.library, on.algorithm}) {
    if (!word.empty()) words.push_back(word);
  }
  if (on.ranks > 1) words.push_back(fmt::format("{} ranks", on.ranks));
  if (on.size_bytes > 0) words.push_back(fmt::format("{} B", on.size_bytes));
  return fmt::format("{}", fmt::join(words, ", "));
}

Json measurements_of(const Report& report) {
  auto rows = Json::array();
  for (const auto& each : report.measurements) {
    rows.push_back({{"quantity", each.quantity},
                    {"shown", fmt::format("{:.4g}", each.value)},
                    {"unit", each.unit},
                    {"subject", subject_of(each.conditions)}});
  }
  return table_of(std::move(rows));
}

// From red at 60% of the usual value to green at 97% of it.
std::string colour_of(double share) {
  struct Stop {
    double at;
    std::array<double, 3> rgb;
  };

  constexpr std::array<Stop, 3> kStops{Stop{0.6, {198, 40, 40}}, Stop{0.87, {249, 168, 37}},
                                       Stop{0.97, {67, 160, 71}}};
  share = std::clamp(share, kStops.front().at, kStops.back().at);
  const auto& low = share < kStops[1].at ? kStops[0] : kStops[1];
  const auto& high = share < kStops[1].at ? kStops[1] : kStops[2];
  const double position = (share - low.at) / (high.at - low.at);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    rgb.at(i) = static_cast<int>(std::lround(std::lerp(low.rgb.at(i), high.rgb.at(i), position)));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

Json row_of(const Matrix& matrix, std::size_t row, double left) {
  auto cells = Json::array();
  for (std::size_t column = 0; column < matrix.names.size(); ++column) {
    const auto& value = matrix.cells[row][column];
    if (!value) continue;
    const double share = matrix.more_is_better ? *value / matrix.usual : matrix.usual / *value;
    const bool finished = *value > 0;
    cells.push_back(
        {{"x", fmt::format("{:.1f}", left + static_cast<double>(column))},
         {"y", row},
         {"colour", finished ? colour_of(share) : "#222"},
         {"row", matrix.names[row]},
         {"column", matrix.names[column]},
         {"value", finished ? fmt::format("{:.4g} {}", *value, matrix.unit) : "did not finish"}});
  }
  return {{"name", matrix.names[row]},
          {"y", fmt::format("{:.2f}", static_cast<double>(row) + 0.72)},
          {"cells", std::move(cells)}};
}

// A square for each pair.
Json picture_of(const Matrix& matrix) {
  const auto count = matrix.names.size();
  Json picture{{"title", matrix.title}, {"unit", matrix.unit}, {"too_many", nullptr}};
  if (count > kMostDrawn) {
    picture["too_many"] = count;
    return picture;
  }
  std::size_t longest = 0;
  for (const auto& name : matrix.names) longest = std::max(longest, name.size());
  const double left = 0.45 * static_cast<double>(longest) + 0.3;
  const double width = left + static_cast<double>(count);
  picture["width"] = fmt::format("{:.1f}", width);
  picture["height"] = count;
  picture["pixels"] = fmt::format("{:.0f}", 24 * width);
  picture["usual"] = fmt::format("{:.4g}", matrix.usual);
  picture["worse"] = matrix.more_is_better ? "less" : "worse";
  for (std::size_t row = 0; row < count; ++row) {
    picture["rows"].push_back(row_of(matrix, row, left));
  }
  return picture;
}

// A bar with a part for each cause.
Json picture_of(const Breakdown& breakdown) {
  constexpr std::array<std::string_view, 6> kLosses{"#c62828", "#ef6c00", "#f9a825",
                                                    "#8d6e63", "#7b3fa0", "#546e7a"};
  auto parts = Json::array();
  std::size_t losses = 0;
  for (const auto& part : breakdown.parts) {
    if (part.value <= 0) continue;
    parts.push_back({{"what", part.what},
                     {"share", fmt::format("{:.3f}", part.value)},
                     {"value", fmt::format("{:.4g}", part.value)},
                     {"colour", part.reached ? "#43a047" : kLosses.at(losses++ % kLosses.size())}});
  }
  return {{"title", breakdown.title}, {"unit", breakdown.unit}, {"parts", std::move(parts)}};
}

Json pictures_of(const Report& report) {
  if (report.breakdowns.empty() && report.matrices.empty()) return nullptr;
  Json pictures{{"breakdowns", Json::array()}, {"matrices", Json::array()}};
  for (const auto& each : report.breakdowns) pictures["breakdowns"].push_back(picture_of(each));
  for (const auto& each : report.matrices) pictures["matrices"].push_back(picture_of(each));
  return pictures;
}

}  // namespace

std::string to_html(const Report& report, const RenderOptions& options) {
  auto page = Json::parse(to_json_line(report));
  page["verdict_class"] = class_of(report.verdict);
  page["of_job"] = !report.nodes.empty();
  page["header"] = header_of(report);
  page["summary"] = summary_of(report);
  page["found"] = findings_of(report, page, options);
  page["pictures"] = pictures_of(report);
  page["gaps"] = table_of(page["coverage"]["not_observed"]);
  page["measured"] = measurements_of(report);
  return render_page(kPage, page);
}

}  // namespace muster
