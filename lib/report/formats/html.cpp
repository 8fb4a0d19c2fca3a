// SPDX-License-Identifier: Apache-2.0
// One page for a browser: needs no script, no network and no other file, and fits a telephone.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "lib/report/format.hpp"
#include "lib/report/formats/markup.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

constexpr std::string_view kStyle = R"(
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
})";

std::string badge(std::string_view kind, std::string_view word) {
  return fmt::format(R"(<span class="badge {}">{}</span>)", kind, word);
}

std::string_view class_of(Verdict verdict) {
  if (verdict == Verdict::healthy) return "pass";
  return verdict == Verdict::unhealthy ? "fail" : "unknown";
}

std::string header(const Report& report) {
  const auto name = report.node.empty() ? std::string("(no name)") : report.node;
  auto html =
      fmt::format("<header>\n<h1>{}{} {}</h1>\n", report.nodes.empty() ? "" : "Job on ",
                  escaped(name), badge(class_of(report.verdict), to_string(report.verdict)));
  const auto line = [&html](std::string_view text) {
    if (!text.empty()) html += fmt::format("<div>{}</div>\n", escaped(text));
  };
  if (!report.accused.empty()) {
    line(fmt::format("Accused: {}", fmt::join(report.accused, ", ")));
  } else if (!report.nodes.empty() && report.verdict == Verdict::unhealthy) {
    line("No node is accused.");
  }
  line(why_undecided(report));
  html += fmt::format(
      "<div class=\"dim\">{} in {:.1f} ms, {}; {}; profile {}; context {}{}; muster {}</div>\n",
      number_of_checks(report), report.duration_ms, escaped(report.started),
      escaped(coverage(report)), escaped(report.profile), escaped(report.context),
      report.snapshot.empty() ? "" : fmt::format("; snapshot {}", escaped(report.snapshot)),
      escaped(report.muster));
  return html + "</header>\n";
}

std::string findings_html(const Report& report, const RenderOptions& options) {
  std::vector<const Finding*> shown;
  for (const auto& finding : report.findings) {
    const bool tells = rank(finding.outcome) <= rank(Outcome::pass) && !is_plain_pass(finding);
    if (options.verbose || tells) shown.push_back(&finding);
  }
  std::ranges::stable_sort(shown, {}, [](const Finding* each) { return rank(each->outcome); });
  if (shown.empty()) return "";
  std::string html =
      "<h2>Findings</h2>\n<table>\n<thead><tr><th></th><th>check</th><th>device</th>"
      "<th>what was found</th><th>what to do</th></tr></thead>\n<tbody>\n";
  for (const auto* finding : shown) {
    const auto outcome = to_string(finding->outcome);
    html += fmt::format(
        "<tr><td>{}</td><td class=\"name\">{}</td><td class=\"name\">{}</td><td>{}{}</td>"
        "<td class=\"remedy\">{}</td></tr>\n",
        badge(outcome, outcome), escaped(finding->check), escaped(finding->device, 120),
        escaped(finding->message),
        finding->code.empty()
            ? ""
            : fmt::format(" <span class=\"dim\">[{}]</span>", escaped(finding->code)),
        describe(finding->remedy));
  }
  return html + "</tbody>\n</table>\n";
}

std::string gaps_table(const Report& report) {
  if (report.coverage.not_observed.empty()) return "";
  std::string html = "<h2>Not observed</h2>\n<table>\n<tbody>\n";
  for (const auto& gap : report.coverage.not_observed) {
    html += fmt::format("<tr><td class=\"name\">{}</td><td>{}{}</td></tr>\n", escaped(gap.what),
                        escaped(gap.reason), gap.required ? ": the verdict needs it" : "");
  }
  return html + "</tbody>\n</table>\n";
}

std::string measured(const Measurement& measurement) {
  const auto& on = measurement.conditions;
  std::vector<std::string> words;
  for (const auto& word : {on.test, on.device, on.collective, on.type, on.reduction, on.placement,
                           on.backend, on.library, on.algorithm}) {
    if (!word.empty()) words.push_back(word);
  }
  if (on.ranks > 1) words.push_back(fmt::format("{} ranks", on.ranks));
  if (on.size_bytes > 0) words.push_back(fmt::format("{} B", on.size_bytes));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string measurements_table(const Report& report) {
  if (report.measurements.empty()) return "";
  std::string html =
      "<h2>Measurements</h2>\n<table>\n<thead><tr><th>quantity</th><th>value</th><th>of</th></tr>"
      "</thead>\n<tbody>\n";
  for (const auto& each : report.measurements) {
    html += fmt::format(
        "<tr><td class=\"name\">{}</td><td class=\"number\">{:.4g} {}</td><td>{}</td></tr>\n",
        escaped(each.quantity), each.value, escaped(each.unit), escaped(measured(each)));
  }
  return html + "</tbody>\n</table>\n";
}

// From red at six tenths of what is usual to green at 97% of it.
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
  const double way = (share - low.at) / (high.at - low.at);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    rgb.at(i) = static_cast<int>(std::lround(std::lerp(low.rgb.at(i), high.rgb.at(i), way)));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

std::string cell_of(const Matrix& matrix, std::size_t row, std::size_t column, double left) {
  const auto& value = matrix.cells[row][column];
  if (!value) return "";
  const double share = matrix.more_is_better ? *value / matrix.usual : matrix.usual / *value;
  const bool ended = *value > 0;
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{}\" width=\".94\" height=\".94\" fill=\"{}\"><title>{} - {}: "
      "{}</title></rect>\n",
      left + static_cast<double>(column), row, ended ? colour_of(share) : "#222",
      escaped(matrix.names[row]), escaped(matrix.names[column]),
      ended ? fmt::format("{:.4g} {}", *value, escaped(matrix.unit)) : "did not finish");
}

// A square for each pair. Of more than can be told apart there is none.
std::string figure(const Matrix& matrix) {
  const auto count = matrix.names.size();
  const auto caption =
      fmt::format("<figure>\n<figcaption>{}</figcaption>\n", escaped(matrix.title));
  if (count > kMostDrawn) {
    return fmt::format("{}<div class=\"dim\">{} are too many to draw.</div>\n</figure>\n", caption,
                       count);
  }
  std::size_t longest = 0;
  for (const auto& name : matrix.names) longest = std::max(longest, name.size());
  const double left = 0.45 * static_cast<double>(longest) + 0.3;
  const double width = left + static_cast<double>(count);
  std::string squares;
  for (std::size_t row = 0; row < count; ++row) {
    squares += fmt::format("<text x=\"0\" y=\"{:.2f}\" font-size=\".72\">{}</text>\n",
                           static_cast<double>(row) + 0.72, escaped(matrix.names[row]));
    for (std::size_t column = 0; column < count; ++column) {
      squares += cell_of(matrix, row, column, left);
    }
  }
  return fmt::format(
      "{}<svg viewBox=\"0 0 {:.1f} {}\" role=\"img\" aria-label=\"{}\" "
      "style=\"max-width:{:.0f}px\">"
      "\n{}</svg>\n<div class=\"dim\">Green: {:.4g} {} and near it; red: 60% of that or {}; "
      "black: did not finish; columns are in the order of the rows.</div>\n</figure>\n",
      caption, width, count, escaped(matrix.title), 24 * width, squares, matrix.usual,
      escaped(matrix.unit), matrix.more_is_better ? "less" : "worse");
}

std::string figure(const Breakdown& breakdown) {
  constexpr std::array<std::string_view, 6> kLosses{"#c62828", "#ef6c00", "#f9a825",
                                                    "#8d6e63", "#7b3fa0", "#546e7a"};
  constexpr std::string_view kReached = "#43a047";
  std::string bar;
  std::string list;
  std::size_t losses = 0;
  for (const auto& part : breakdown.parts) {
    if (part.value <= 0) continue;
    const auto colour = part.reached ? kReached : kLosses.at(losses++ % kLosses.size());
    bar += fmt::format("<span style=\"flex:{:.3f};background:{}\" title=\"{}\"></span>", part.value,
                       colour, escaped(part.what));
    list += fmt::format("<li><i style=\"background:{}\"></i>{:.4g} {} {}</li>\n", colour,
                        part.value, escaped(breakdown.unit), escaped(part.what));
  }
  return fmt::format(
      "<figure>\n<figcaption>{}</figcaption>\n<div class=\"bar\">{}</div>\n<ul "
      "class=\"parts\">\n{}</ul>\n</figure>\n",
      escaped(breakdown.title), bar, list);
}

std::string figures(const Report& report) {
  std::string html;
  for (const auto& each : report.breakdowns) html += figure(each);
  for (const auto& each : report.matrices) html += figure(each);
  return html.empty() ? html : fmt::format("<h2>Pictures</h2>\n{}", html);
}

}  // namespace

std::string to_html(const Report& report, const RenderOptions& options) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>muster: {} is {}</title>\n<style>{}\n</style>\n</head>\n<body>\n{}{}{}{}{}</body>\n"
      "</html>\n",
      escaped(report.node), to_string(report.verdict), kStyle, header(report),
      findings_html(report, options), figures(report), gaps_table(report),
      measurements_table(report));
}

}  // namespace muster
