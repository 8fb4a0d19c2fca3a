// SPDX-License-Identifier: Apache-2.0
// muster.report/1, for programs. Every string is printable, so that a consumer can safely echo it
// to a terminal.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/files.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/report/format.hpp"

namespace muster {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Rounds durations to microseconds.
void round_durations(std::string_view key, OrderedJson& json) {
  if (json.is_number_float() && key.ends_with("_ms")) {
    json = std::round(json.get<double>() * 1000.0) / 1000.0;
  }
  if (!json.is_structured()) return;
  for (auto& [inner, value] : json.items()) round_durations(inner, value);
}

void leave_out_plain_passes(const std::vector<Finding>& findings, OrderedJson& json) {
  auto kept = OrderedJson::array();
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!is_plain_pass(findings[i])) kept.push_back(std::move(json[i]));
  }
  json = std::move(kept);
}

}  // namespace

std::string to_json(const Report& report, const RenderOptions& options) {
  constexpr std::size_t kLongestText = 4096;
  std::string text;
  JsonWriter(text, kLongestText).write(report);
  auto document = OrderedJson::parse(text);
  round_durations("", document);
  if (report.nodes.empty()) {
    for (const auto* key_of_job : {"nodes", "accused", "matrices"}) document.erase(key_of_job);
    if (report.judged) document.erase("judged");
  }
  if (!options.verbose) {
    leave_out_plain_passes(report.findings, document["findings"]);
    document.erase("readings");
  }
  if (!options.every_iteration && !report.measurements.empty()) {
    for (auto& each : document["measurements"]) each.erase("iterations_us");
  }
  return fmt::format("{}\n", document.dump(options.indent > 0 ? options.indent : -1));
}

Result<Report> parse_report(std::string_view json) { return from_json<Report>(json); }

Result<Report> read_report(const std::string& file) {
  TRY_ASSIGN(const auto text, read_named(file));
  auto report = parse_report(text);
  if (report) return report;
  return make_error("{}: {}", file == kStandardInput ? "standard input" : printable(file),
                    printable(report.error().message, 200));
}

}  // namespace muster
