// SPDX-License-Identifier: Apache-2.0
// JUnit XML for CI systems: a test case per check. `fail` is a failure, `unknown` an error, `warn`
// the output of a case.
#include <fmt/format.h>

#include "lib/report/format.hpp"
#include "lib/report/formats/page.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

// The findings of a check with this outcome, one line each.
std::string lines_of(const Report& report, const CheckResult& check, Outcome outcome) {
  std::string lines;
  for (const auto& finding : report.findings) {
    if (finding.check != check.id || finding.outcome != outcome) continue;
    lines += fmt::format("{}{}", lines.empty() ? "" : "\n", escaped(sentence(finding)));
  }
  return lines;
}

std::string first_line(std::string_view lines) {
  return std::string(lines.substr(0, lines.find('\n')));
}

std::string body_of(const Report& report, const CheckResult& check) {
  const auto lines = lines_of(report, check, check.outcome);
  switch (check.outcome) {
    case Outcome::fail:
      return fmt::format("      <failure type=\"fail\" message=\"{}\">{}</failure>\n",
                         first_line(lines), lines);
    case Outcome::unknown:
      return fmt::format("      <error type=\"unknown\" message=\"{}\">{}</error>\n",
                         first_line(lines), lines);
    case Outcome::skip:
      return fmt::format("      <skipped message=\"{}\"/>\n", first_line(lines));
    case Outcome::warn:
      return fmt::format("      <system-out>{}</system-out>\n", lines);
    case Outcome::pass:
      break;
  }
  return {};
}

std::string test_case(const Report& report, const CheckResult& check) {
  const auto group = std::string_view(check.id).substr(0, check.id.find('.'));
  const auto open = fmt::format(R"(    <testcase classname="muster.{}" name="{}" time="0")",
                                escaped(group), escaped(check.id));
  const auto body = body_of(report, check);
  if (body.empty()) return fmt::format("{}/>\n", open);
  return fmt::format("{}>\n{}    </testcase>\n", open, body);
}

Outcome skipped_unless_known(Outcome outcome) {
  return outcome == Outcome::unknown ? Outcome::skip : outcome;
}

std::string property(std::string_view name, std::string_view value) {
  return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, escaped(value));
}

}  // namespace

std::string to_junit(const Report& complete, const RenderOptions& /*options*/) {
  auto report = complete;
  if (!report.judged) {  // a trial is not an error
    for (auto& each : report.checks) each.outcome = skipped_unless_known(each.outcome);
    for (auto& each : report.findings) each.outcome = skipped_unless_known(each.outcome);
  }
  const auto counts =
      fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}")", report.checks.size(),
                  count_checks(report, Outcome::fail), count_checks(report, Outcome::unknown),
                  count_checks(report, Outcome::skip));
  // Timestamps in JUnit have no time zone.
  auto timestamp = report.started;
  if (timestamp.ends_with('Z')) timestamp.pop_back();

  auto xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites>\n"
      "  <testsuite name=\"muster\" {} time=\"{:.3f}\" timestamp=\"{}\" hostname=\"{}\">\n"
      "    <properties>\n",
      counts, report.duration_ms / 1000.0, escaped(timestamp), escaped(name_of(report)));
  xml += property("verdict", to_string(report.verdict));
  xml += property("profile", report.profile);
  xml += property("context", report.context);
  xml += property("coverage", coverage(report));
  xml += "    </properties>\n";
  for (const auto& check : report.checks) xml += test_case(report, check);
  xml += "  </testsuite>\n</testsuites>\n";
  return xml;
}

}  // namespace muster
