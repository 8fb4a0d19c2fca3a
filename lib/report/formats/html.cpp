// SPDX-License-Identifier: Apache-2.0
// A self-contained web page without scripts, which also fits a phone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "lib/report/formats/page.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

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
  auto why = report.judged ? why_undecided(report) : why_not_judged(report);
  if (!why.empty()) lines.push_back(std::move(why));
  return lines;
}

std::string summary_of(const Report& report) {
  const auto snapshot =
      report.snapshot.empty() ? "" : fmt::format("; snapshot {}", report.snapshot);
  return fmt::format("{} in {:.1f} ms, {}; {}; profile {}; context {}{}; muster {}",
                     counted(report.checks.size(), "check"), report.duration_ms, report.started,
                     coverage(report), report.profile, report.context, snapshot, report.muster);
}

Json findings_of(const Report& report, const Json& document, const Pictures& pictures,
                 const RenderOptions& options) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const auto& finding = report.findings[i];
    const bool shows = finding.outcome != Outcome::skip && !is_plain_pass(finding);
    if (options.verbose || shows) shown.push_back(i);
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
  return render_page(html_page(), page);
}

}  // namespace muster
