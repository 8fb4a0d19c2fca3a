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
constexpr std::string_view kPage = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>muster: {{name}} is {{verdict}}</title>
<style>
:root{color-scheme:light dark;--line:#8884;--dim:#777;--fail:#c62828;--warn:#b26a00;--unknown:#7b3fa0;--pass:#2e7d32;--skip:#777}
*{box-sizing:border-box}
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:72rem;overflow-wrap:break-word}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
.badge{color:#fff;border-radius:.3rem;padding:.05rem .5rem;font-size:.85em;white-space:nowrap}
.fail{background:var(--fail)}.warn{background:var(--warn)}.unknown{background:var(--unknown)}
.pass{background:var(--pass)}.skip{background:var(--skip)}
.dim{color:var(--dim)}
table{border-collapse:collapse;width:100%}
th{text-align:left;font-weight:600}th,td{padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td.name{white-space:nowrap}td.device{min-width:7rem}td.what{overflow-wrap:anywhere;min-width:12rem}td.remedy{min-width:7rem}
.scroll{overflow-x:auto}
figure{margin:0 0 1.2rem}figcaption{margin-bottom:.4rem}
svg{display:block}svg text{fill:currentColor;font-family:system-ui,sans-serif}
svg.chart{width:100%;height:auto;max-width:44rem}
.bar{display:flex;height:1.8rem;border-radius:.3rem;overflow:hidden}
ul.parts,ul.legend{list-style:none;padding:0;margin:.4rem 0}
ul.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem}
table.sizes{width:auto}table.sizes th,table.sizes td{padding:.15rem 1.2rem .15rem 0;white-space:nowrap}table.sizes th+th{text-align:right}
ul.parts i,ul.legend i{display:inline-block;width:.8em;height:.8em;border-radius:.15em;margin-right:.5em}
@media(max-width:40rem){
.cards thead{display:none}.cards tr{display:block;border-bottom:1px solid var(--line);padding:.5rem 0}
.cards td{display:block;border:0;padding:.1rem 0;white-space:normal}
td.name{white-space:normal}
}
</style>
</head>
<body>
<header>
<h1>{{#of_job}}Job on {{/of_job}}{{name}} <span class="badge {{verdict_class}}">{{verdict}}</span></h1>
{{#header}}
<div>{{.}}</div>
{{/header}}
<div class="dim">{{summary}}</div>
</header>
{{#found}}
<h2>Findings</h2>
<table class="cards">
<thead><tr><th></th><th>check</th><th>device</th><th>what was found</th><th>what to do</th></tr></thead>
<tbody>
{{#rows}}
<tr><td><span class="badge {{outcome}}">{{outcome}}</span></td><td class="name">{{check}}</td><td class="device">{{device}}</td><td class="what">{{message}}{{#code}} <span class="dim">[{{code}}]</span>{{/code}}{{#picture}} <a href="#{{picture}}">picture</a>{{/picture}}</td><td class="remedy">{{action}}</td></tr>
{{/rows}}
</tbody>
</table>
{{/found}}
{{#pictures}}
<h2>Pictures</h2>
{{#breakdowns}}
<figure id="{{id}}">
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
<figure id="{{id}}">
<figcaption>{{title}}</figcaption>
{{#too_many}}
<div class="dim">{{too_many}} are too many to draw.</div>
{{/too_many}}
{{^too_many}}
<div class="scroll">
<svg viewBox="0 0 {{width}} {{height}}" role="img" aria-label="{{title}}" style="width:{{pixels}}px">
{{#columns}}
<text x="0" y="0" font-size=".7" transform="translate({{x}} {{y}}) rotate(-90)">{{name}}</text>
{{/columns}}
{{#rows}}
<text x="0" y="{{y}}" font-size=".7">{{name}}</text>
{{#cells}}
<rect x="{{x}}" y="{{y}}" width=".94" height=".94" fill="{{colour}}"><title>{{row}} - {{column}}: {{value}}</title></rect>
{{/cells}}
{{/rows}}
</svg>
</div>
<ul class="legend dim">
{{#legend}}
<li><i style="background:{{colour}}"></i>{{text}}</li>
{{/legend}}
</ul>
{{/too_many}}
</figure>
{{/matrices}}
{{#charts}}
<figure id="{{id}}">
<figcaption>{{title}}</figcaption>
<svg class="chart" viewBox="0 0 400 200" role="img" aria-label="{{title}}">
{{#scale}}
<line x1="44" x2="392" y1="{{y}}" y2="{{y}}" stroke="currentColor" stroke-opacity=".15"></line>
<text x="40" y="{{y}}" dy="4" font-size="11" text-anchor="end">{{text}}</text>
{{/scale}}
{{#sizes}}
<text x="{{x}}" y="188" font-size="11" text-anchor="middle">{{text}}</text>
{{/sizes}}
{{#lines}}
<polyline points="{{points}}" fill="none" stroke="{{colour}}" stroke-width="2"></polyline>
{{/lines}}
{{#limit}}
<line class="limit" x1="44" x2="392" y1="{{y}}" y2="{{y}}" stroke="#c62828" stroke-dasharray="5 4"></line>
{{/limit}}
</svg>
<ul class="legend dim">
{{#lines}}
<li><i style="background:{{colour}}"></i>{{name}}</li>
{{/lines}}
{{#limit}}
<li><i style="background:#c62828"></i>limit {{text}}</li>
{{/limit}}
</ul>
<div class="scroll">
<table class="sizes">
<thead><tr><th>size</th>{{#lines}}<th>{{name}}, {{unit}}</th>{{/lines}}</tr></thead>
<tbody>
{{#rows}}
<tr><td>{{size}}</td>{{#values}}<td class="number">{{.}}</td>{{/values}}</tr>
{{/rows}}
</tbody>
</table>
</div>
</figure>
{{/charts}}
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
<div class="scroll">
<table>
<thead><tr><th>quantity</th><th>value</th><th>of</th></tr></thead>
<tbody>
{{#rows}}
<tr><td class="name">{{quantity}}</td><td class="number">{{shown}} {{unit}}</td><td>{{subject}}</td></tr>
{{/rows}}
</tbody>
</table>
</div>
{{/measured}}
</body>
</html>
)page";

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
  } else if (is_of_job(report) && report.verdict == Verdict::unhealthy) {
    lines.push_back("No single node is to blame.");
  }
  if (!report.judged) lines.push_back(why_not_judged(report));
  if (auto why = why_undecided(report); !why.empty() && report.judged) {
    lines.push_back(std::move(why));
  }
  return lines;
}

std::string summary_of(const Report& report) {
  const auto snapshot =
      report.snapshot.empty() ? "" : fmt::format("; snapshot {}", report.snapshot);
  return fmt::format("{} in {:.1f} ms, {}; {}; profile {}; context {}{}; muster {}",
                     number_of_checks(report), report.duration_ms, report.started, coverage(report),
                     report.profile, report.context, snapshot, report.muster);
}

Json findings_of(const Report& report, const Json& document, const Pictures& pictures,
                 const RenderOptions& options) {
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
    const auto picture = pictures.by_check.find(report.findings[i].check);
    if (picture != pictures.by_check.end()) rows.back()["picture"] = picture->second;
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

Json measurements_of(const Report& report, const Pictures& pictures) {
  auto rows = Json::array();
  for (const auto& each : report.measurements) {
    if (pictures.drawn.contains(&each)) continue;
    rows.push_back({{"quantity", each.quantity},
                    {"shown", fmt::format("{:.4g}", each.value)},
                    {"unit", each.unit},
                    {"subject", subject_of(each.conditions)}});
  }
  return table_of(std::move(rows));
}

}  // namespace

std::string to_html(const Report& report, const RenderOptions& options) {
  auto page = Json::parse(to_json_line(report));
  page["verdict_class"] = class_of(report.verdict);
  if (!report.judged) page["verdict"] = "not judged";
  page["name"] = name_of(report);
  page["of_job"] = is_of_job(report);
  page["header"] = header_of(report);
  page["summary"] = summary_of(report);
  const auto pictures = pictures_of(report);
  page["found"] = findings_of(report, page, pictures, options);
  page["pictures"] = pictures.data;
  page["gaps"] = table_of(page["coverage"]["not_observed"]);
  page["measured"] = measurements_of(report, pictures);
  return render_page(kPage, page);
}

}  // namespace muster
