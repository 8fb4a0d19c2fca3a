// SPDX-License-Identifier: Apache-2.0
// muster.report/1, for programs. Keys keep the order of the documents; every string is printable,
// so that a consumer that echoes one to a terminal is as safe as a reader of the text form.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "lib/report/measurement_json.hpp"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxText = 4096;

std::string text(std::string_view raw) { return printable(raw, kMaxText); }

// Microseconds are as fine as a duration is known.
double rounded_ms(double value) { return std::round(value * 1000.0) / 1000.0; }

struct ToJson {
  Json operator()(std::monostate /*none*/) const { return nullptr; }

  Json operator()(bool value) const { return value; }

  Json operator()(std::int64_t value) const { return value; }

  // JSON has no infinity and no NaN.
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(nullptr); }

  Json operator()(const std::string& value) const { return text(value); }
};

Json to_value(const Value& value) { return std::visit(ToJson{}, value); }

Json to_object(const Finding& finding) {
  return Json{{"check", text(finding.check)},
              {"device", text(finding.device)},
              {"outcome", to_string(finding.outcome)},
              {"message", text(finding.message)},
              {"observed", to_value(finding.observed)},
              {"limit", to_value(finding.limit)},
              {"unit", text(finding.unit)},
              {"remedy", to_string(finding.remedy)},
              {"code", text(finding.code)},
              {"category", text(finding.category)}};
}

Json to_object(const ProbeResult& probe) {
  Json object{{"name", text(probe.name)},
              {"status", text(probe.status)},
              {"duration_ms", rounded_ms(probe.duration_ms)}};
  if (!probe.reason.empty()) object["reason"] = text(probe.reason);
  return object;
}

Json to_strings(const std::vector<std::string>& lines) {
  auto array = Json::array();
  for (const auto& line : lines) array.push_back(text(line));
  return array;
}

}  // namespace

std::string to_json(const Report& report, const RenderOptions& options) {
  Json document{{"schema", kReportSchema},
                {"node", text(report.node)},
                {"profile", text(report.profile)},
                {"profile_evidence", to_strings(report.profile_evidence)},
                {"context", text(report.context)},
                {"started", text(report.started)},
                {"duration_ms", rounded_ms(report.duration_ms)},
                {"verdict", to_string(report.verdict)},
                {"physical_host", text(report.physical_host)},
                {"muster", text(report.muster)},
                {"snapshot", text(report.snapshot)},
                {"checks", Json::array()},
                {"findings", Json::array()},
                {"probes", Json::array()}};
  for (const auto& check : report.checks) {
    document["checks"].push_back(
        Json{{"id", text(check.id)}, {"outcome", to_string(check.outcome)}});
  }
  for (const auto& finding : report.findings) {
    if (is_plain_pass(finding) && !options.verbose) continue;
    document["findings"].push_back(to_object(finding));
  }
  for (const auto& probe : report.probes) document["probes"].push_back(to_object(probe));
  for (const auto& measurement : report.measurements) {
    document["measurements"].push_back(to_object(measurement, options.every_iteration));
  }
  if (!report.ways.empty()) document["ways"] = to_strings(report.ways);
  if (!report.warnings.empty()) document["warnings"] = to_strings(report.warnings);
  return fmt::format("{}\n", document.dump(options.indent > 0 ? options.indent : -1));
}

}  // namespace muster
