// SPDX-License-Identifier: Apache-2.0
// muster.report/1, for programs. Every string is printable, so that a consumer can safely echo it
// to a terminal.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/report/format.hpp"

namespace muster {
namespace {

// Whether a report is written without this key. Those of jobs are left out for a node.
bool is_left_out(std::string_view key, const Report& report, const RenderOptions& options) {
  const bool is_of_node = report.nodes.empty();
  if (key == "nodes" || key == "accused" || key == "matrices") return is_of_node;
  if (key == "judged") return is_of_node && report.judged;
  return key == "readings" && !options.verbose;
}

std::vector<Finding> without_plain_passes(const std::vector<Finding>& findings) {
  std::vector<Finding> kept;
  std::ranges::remove_copy_if(findings, std::back_inserter(kept), is_plain_pass);
  return kept;
}

std::vector<Measurement> without_iterations(std::vector<Measurement> measurements) {
  for (auto& each : measurements) each.iterations_us.clear();
  return measurements;
}

// Writes a member of a report; of some, a part.
class ReportWriter {
 public:
  ReportWriter(JsonWriter& json, const RenderOptions& options) : json_(json), options_(options) {}

  template <class Field, class T>
  void write(const Field& field, const T& value) const {
    json_.field(field, value);
  }

  template <class Field>
  void write(const Field& field, const std::vector<Finding>& findings) const {
    json_.field(field, options_.verbose ? findings : without_plain_passes(findings));
  }

  template <class Field>
  void write(const Field& field, const std::vector<Measurement>& measurements) const {
    json_.field(field, options_.every_iteration ? measurements : without_iterations(measurements));
  }

 private:
  JsonWriter& json_;
  const RenderOptions& options_;
};

}  // namespace

std::string to_json(const Report& report, const RenderOptions& options) {
  constexpr std::size_t kLongestText = 4096;
  std::string text;
  JsonWriter json(text, kLongestText);
  const ReportWriter writer(json, options);
  json.object([&] {
    json.member("schema", Report::kSchema);
    for_each_field<Report>([&](const auto& field) {
      if (is_left_out(field.name, report, options)) return;
      writer.write(field, report.*field.member);
    });
  });
  if (options.indent > 0) text = nlohmann::ordered_json::parse(text).dump(options.indent);
  text += '\n';
  return text;
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
