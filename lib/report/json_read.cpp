// SPDX-License-Identifier: Apache-2.0
// Reads muster.report/1 back. The text may come from anywhere: every type is asked for before it
// is used, and the first thing that is wrong is named by its place.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/report/measurement_json.hpp"
#include "lib/report/report.hpp"

namespace muster {
namespace {

using Json = nlohmann::json;

// Looks members up and remembers the first complaint; what cannot be read is left as it was.
class Reader {
 public:
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  void complain(std::string_view place, std::string_view what) {
    if (complaint_.empty()) complaint_ = fmt::format("{}: {}", printable(place, 200), what);
  }

  // The member, or nothing where it is missing; a missing required one is a complaint.
  const Json* member(const Json& object, std::string_view place, const char* key, bool required) {
    const auto found = object.find(key);
    if (found != object.end()) return &*found;
    if (required) complain(fmt::format("{}/{}", place, key), "is missing");
    return nullptr;
  }

  void string(const Json& object, std::string_view place, const char* key, std::string& target) {
    const auto* value = member(object, place, key, true);
    if (value == nullptr) return;
    if (!value->is_string()) return complain(fmt::format("{}/{}", place, key), "expected a string");
    target = value->get<std::string>();
  }

  void optional_string(const Json& object,
                       std::string_view place,
                       const char* key,
                       std::string& target) {
    if (object.contains(key)) string(object, place, key, target);
  }

  void number(const Json& object, std::string_view place, const char* key, double& target) {
    const auto* value = member(object, place, key, true);
    if (value == nullptr) return;
    if (!value->is_number()) return complain(fmt::format("{}/{}", place, key), "expected a number");
    target = value->get<double>();
  }

  void outcome(const Json& object, std::string_view place, Outcome& target) {
    std::string word;
    string(object, place, "outcome", word);
    const auto parsed = parse_outcome(word);
    if (!parsed) return complain(fmt::format("{}/outcome", place), "is no outcome");
    target = *parsed;
  }

  void value(const Json& object, std::string_view place, const char* key, Value& target) {
    const auto* json = member(object, place, key, false);
    if (json == nullptr || json->is_null()) return;
    if (json->is_boolean()) {
      target = json->get<bool>();
    } else if (json->is_number_integer()) {
      target = json->get<std::int64_t>();
    } else if (json->is_number()) {
      target = json->get<double>();
    } else if (json->is_string()) {
      target = json->get<std::string>();
    } else {
      complain(fmt::format("{}/{}", place, key), "expected a plain value");
    }
  }

  // Calls `read(element, place)` for every object of a list.
  template <class Read>
  void objects(const Json& document, const char* key, const Read& read) {
    const auto* list = member(document, "", key, true);
    if (list == nullptr) return;
    if (!list->is_array()) return complain(fmt::format("/{}", key), "expected a list");
    std::size_t index = 0;
    for (const auto& element : *list) {
      const auto place = fmt::format("/{}/{}", key, index++);
      if (!element.is_object()) return complain(place, "expected an object");
      read(element, place);
    }
  }

 private:
  std::string complaint_;
};

Finding read_finding(Reader& reader, const Json& object, std::string_view place) {
  Finding finding;
  reader.string(object, place, "check", finding.check);
  reader.string(object, place, "device", finding.device);
  reader.outcome(object, place, finding.outcome);
  reader.string(object, place, "message", finding.message);
  reader.value(object, place, "observed", finding.observed);
  reader.value(object, place, "limit", finding.limit);
  reader.optional_string(object, place, "unit", finding.unit);
  reader.optional_string(object, place, "code", finding.code);
  reader.optional_string(object, place, "category", finding.category);
  std::string remedy;
  reader.string(object, place, "remedy", remedy);
  const auto parsed = parse_remedy(remedy);
  if (!parsed) reader.complain(fmt::format("{}/remedy", place), "is no remedy");
  finding.remedy = parsed.value_or(Remedy::none);
  return finding;
}

void read_verdict(Reader& reader, const Json& document, Report& report) {
  std::string word;
  reader.string(document, "", "verdict", word);
  for (const auto verdict : {Verdict::healthy, Verdict::unhealthy, Verdict::unknown}) {
    if (word == to_string(verdict)) {
      report.verdict = verdict;
      return;
    }
  }
  reader.complain("/verdict", "is no verdict");
}

void read_strings(Reader& reader,
                  const Json& document,
                  const char* key,
                  std::vector<std::string>& target) {
  const auto* list = reader.member(document, "", key, false);
  if (list == nullptr) return;
  if (!list->is_array()) return reader.complain(fmt::format("/{}", key), "expected a list");
  for (const auto& line : *list) {
    if (!line.is_string()) return reader.complain(fmt::format("/{}", key), "expected strings");
    target.push_back(line.get<std::string>());
  }
}

void read_measurements(Reader& reader, const Json& document, Report& report) {
  reader.objects(document, "measurements", [&](const Json& object, std::string_view place) {
    auto measurement = read_measurement(object);
    if (!measurement) {
      const auto& message = measurement.error().message;
      const auto colon = message.find(": ");
      return reader.complain(fmt::format("{}{}", place, message.substr(0, colon)),
                             message.substr(colon + 2));
    }
    report.measurements.push_back(*std::move(measurement));
  });
}

Report read_report(Reader& reader, const Json& document) {
  Report report;
  reader.string(document, "", "node", report.node);
  reader.string(document, "", "profile", report.profile);
  read_strings(reader, document, "profile_evidence", report.profile_evidence);
  read_strings(reader, document, "ways", report.ways);
  read_strings(reader, document, "warnings", report.warnings);
  reader.string(document, "", "context", report.context);
  reader.string(document, "", "started", report.started);
  reader.number(document, "", "duration_ms", report.duration_ms);
  read_verdict(reader, document, report);
  reader.optional_string(document, "", "physical_host", report.physical_host);
  reader.optional_string(document, "", "muster", report.muster);
  reader.optional_string(document, "", "snapshot", report.snapshot);
  reader.objects(document, "checks", [&](const Json& object, std::string_view place) {
    CheckResult check;
    reader.string(object, place, "id", check.id);
    reader.outcome(object, place, check.outcome);
    report.checks.push_back(std::move(check));
  });
  reader.objects(document, "findings", [&](const Json& object, std::string_view place) {
    report.findings.push_back(read_finding(reader, object, place));
  });
  reader.objects(document, "probes", [&](const Json& object, std::string_view place) {
    ProbeResult probe;
    reader.string(object, place, "name", probe.name);
    reader.string(object, place, "status", probe.status);
    reader.optional_string(object, place, "reason", probe.reason);
    reader.number(object, place, "duration_ms", probe.duration_ms);
    report.probes.push_back(std::move(probe));
  });
  if (document.contains("measurements")) read_measurements(reader, document, report);
  return report;
}

}  // namespace

Result<Report> parse_report(std::string_view json) {
  const auto document = Json::parse(json, nullptr, false);
  if (document.is_discarded()) return make_error("a report: not valid JSON");
  if (!document.is_object()) return make_error("a report: expected an object");
  Reader reader;
  std::string schema;
  reader.string(document, "", "schema", schema);
  if (schema != kReportSchema) {
    reader.complain("/schema", fmt::format("expected \"{}\"", kReportSchema));
  }
  auto report = read_report(reader, document);
  if (!reader.complaint().empty()) return make_error(reader.complaint());
  return report;
}

}  // namespace muster
