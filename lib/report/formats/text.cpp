// SPDX-License-Identifier: Apache-2.0
// Text for people: findings with remedies, worst first, then a summary of the run, the verdict and
// the profile.
#include "lib/base/text.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

constexpr std::size_t kOutcomeWidth = 7;
constexpr std::size_t kIndent = kOutcomeWidth + 2;

enum class Paint { plain, red, yellow, green, magenta, dim, bold };

std::string painted(std::string_view text, Paint paint, bool colour) {
  constexpr std::array kCodes{"",         "\x1b[31m", "\x1b[33m", "\x1b[32m",
                              "\x1b[35m", "\x1b[2m",  "\x1b[1m"};
  if (!colour || paint == Paint::plain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", kCodes.at(static_cast<std::size_t>(paint)), text);
}

Paint paint_of(Outcome outcome) {
  // In the order of kWorstFirst.
  constexpr std::array kPaints{Paint::red, Paint::magenta, Paint::yellow, Paint::green, Paint::dim};
  return kPaints.at(static_cast<std::size_t>(rank(outcome)));
}

Paint paint_of(Verdict verdict) {
  if (verdict == Verdict::healthy) return Paint::green;
  return verdict == Verdict::unhealthy ? Paint::red : Paint::magenta;
}

std::string padded(std::string_view text, std::size_t width) {
  const auto taken = text_width(text);
  return fmt::format("{}{}", text, std::string(width - std::min(width, taken), ' '));
}

// The first column of a line.
std::string outcome_column(Outcome outcome, const RenderOptions& options) {
  return painted(padded(to_string(outcome), kOutcomeWidth), paint_of(outcome), options.colour);
}

bool is_shown(const Finding& finding, const RenderOptions& options) {
  if (options.verbose || rank(finding.outcome) < rank(Outcome::pass)) return true;
  if (std::ranges::find(options.always, finding.check) != options.always.end()) {
    return !options.quiet || finding.outcome == Outcome::skip;
  }
  return !options.quiet && finding.outcome == Outcome::pass && !is_plain_pass(finding);
}

// A line of the table: a finding, or a group of findings.
struct Row {
  const Finding* finding = nullptr;
  std::string check, device, message;
};

bool is_in(const FindingGroup& group, const Finding& finding) {
  return std::ranges::count(group.members, SeenBy{finding.check, finding.device}) > 0;
}

Row row_of(const Finding& finding) {
  return {&finding, printable(finding.check), printable(finding.device, 120),
          printable(finding.message)};
}

// A group is shown as its first member; the others are left out.
std::vector<Row> rows_of(const Report& report, const RenderOptions& options) {
  std::vector<Row> rows;
  std::vector<const FindingGroup*> begun;
  for (const auto& finding : report.findings) {
    if (!is_shown(finding, options)) continue;
    const auto group = std::ranges::find_if(
        report.groups, [&](const FindingGroup& each) { return is_in(each, finding); });
    if (options.verbose || group == report.groups.end()) {
      rows.push_back(row_of(finding));
      continue;
    }
    if (std::ranges::count(begun, &*group) > 0) continue;
    begun.push_back(&*group);
    const bool one_check = std::ranges::all_of(
        group->members, [&](const SeenBy& member) { return member.check == finding.check; });
    auto row = row_of(finding);
    (one_check ? row.device : row.check) = printable(group->subject, 120);
    row.message = printable(group->message, 1000);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return rank(row.finding->outcome); });
  return rows;
}

std::string findings_table(const Report& report, const RenderOptions& options) {
  constexpr std::size_t kMaxDeviceWidth = 32;
  const auto rows = rows_of(report, options);
  std::size_t check_width = 0;
  std::size_t device_width = 0;
  for (const auto& row : rows) {
    check_width = std::max(check_width, text_width(row.check));
    device_width = std::max(device_width, std::min(text_width(row.device), kMaxDeviceWidth));
  }

  // On a narrow terminal messages go below their devices.
  constexpr std::size_t kColumnWidth = 45;
  const auto column = kOutcomeWidth + check_width + device_width + 6;
  const bool below = options.width > 0 && options.width < column + kColumnWidth;
  const auto indent = below ? kIndent : column;
  std::string table;
  for (const auto& row : rows) {
    const auto& finding = *row.finding;
    const auto remedy = describe(finding.remedy);
    const auto code =
        finding.code.empty() ? std::string() : fmt::format(" [{}]", printable(finding.code, 40));
    const auto message =
        fmt::format("{}{}{}{}", row.message, code, remedy.empty() ? "" : " -> ", remedy);
    table += fmt::format("{}  {}  {}{}{}\n", outcome_column(finding.outcome, options),
                         padded(row.check, check_width),
                         below ? row.device : padded(row.device, device_width),
                         below ? fmt::format("\n{}", std::string(indent, ' ')) : "  ",
                         wrapped(message, indent, options.width));
  }
  return table;
}

bool is_silent(const ProbeResult& probe) {
  return probe.status == "timeout" || probe.status == "error";
}

// Facts that were not observed, unless the line of a probe explains it.
std::string gaps_table(const Report& report, const RenderOptions& options) {
  std::string table;
  for (const auto& gap : report.coverage.not_observed) {
    const bool explained = std::ranges::any_of(report.probes, [&](const ProbeResult& probe) {
      return is_silent(probe) && probe.reason == gap.reason;
    });
    if (options.quiet ? !gap.required : explained) continue;
    const auto text = fmt::format("not observed: {}: {}", gap.what, printable(gap.reason));
    table += fmt::format("{}  {}\n",
                         outcome_column(gap.required ? Outcome::unknown : Outcome::skip, options),
                         wrapped(text, kIndent, options.width));
  }
  return table;
}

// Failed probes without a finding, and with -v all probes.
std::string probes_table(const Report& report, const RenderOptions& options) {
  std::string table;
  for (const auto& probe : report.probes) {
    const bool explained = std::ranges::any_of(report.findings, [&](const Finding& finding) {
      return finding.check == "muster.probes" && finding.device == probe.name;
    });
    if (!options.verbose && (explained || !is_silent(probe))) continue;
    const auto begin = fmt::format("probe    {}  {}  {:.1f} ms", padded(printable(probe.name), 12),
                                   padded(printable(probe.status), 7), probe.duration_ms);
    const auto reason = printable(probe.reason);
    const auto width = text_width(begin) + 2 + text_width(reason);
    const bool below = options.width > 0 && width > options.width;
    const std::string between = reason.empty() ? ""
                                : below        ? fmt::format("\n{:{}}", "", kIndent)
                                               : "  ";
    table += fmt::format("{}{}{}\n", begin, between, wrapped(reason, kIndent, options.width));
  }
  return table;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between = "; ") {
  return printable(fmt::format("{}", fmt::join(parts, between)), 1000);
}

// A line of the summary. Its word has the width of the outcome column.
std::string closing_line(std::string_view word, std::string_view text,
                         const RenderOptions& options) {
  return fmt::format("{}  {}\n", padded(word, kOutcomeWidth),
                     wrapped(text, kIndent, options.width));
}

std::string verdict_line(const Report& report, const RenderOptions& options) {
  if (!report.judged) return closing_line("verdict", why_not_judged(report), options);
  const auto word = to_string(report.verdict);
  const auto host = report.physical_host.empty()
                        ? std::string()
                        : fmt::format(" (physical host {})", printable(report.physical_host));
  auto why = why_undecided(report);
  if (const auto seen = coverage(report); !seen.empty()) {
    why += fmt::format("{}{}", why.empty() ? "" : "; ", seen);
  }
  const bool is_job = is_of_job(report);
  const auto node = fmt::format("{}{}", is_job ? "the job on " : "", name_of(report));
  if (is_job && report.verdict == Verdict::unhealthy) {
    const auto whom = report.accused.empty()
                          ? std::string("no single node is to blame")
                          : fmt::format("because of findings on {}", joined(report.accused, ", "));
    why = fmt::format("{}{}{}", whom, why.empty() ? "" : "; ", why);
  }
  const auto end = fmt::format("{}{}{}", host, why.empty() ? "" : ": ", printable(why));
  const auto text = wrapped(fmt::format("{} is {}{}", node, word, end), kIndent, options.width);
  if (!options.colour) return fmt::format("verdict  {}\n", text);
  // Colours were left out, since they have no width.
  const auto plain = fmt::format("{} is {}", node, word);
  const auto rest = text.starts_with(plain) ? text.substr(plain.size()) : end;
  return fmt::format("verdict  {} is {}{}\n", painted(node, Paint::bold, true),
                     painted(word, paint_of(report.verdict), true), rest);
}

// "1 fail, 40 pass, 2 skip", worst first.
std::string count_by_outcome(const Report& report) {
  std::string counts;
  for (const auto outcome : kWorstFirst) {
    const auto count = count_checks(report, outcome);
    if (count == 0) continue;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, to_string(outcome));
  }
  return counts;
}

// The reached bandwidth and the loss of each cause, as bars.
std::string bars(const Breakdown& breakdown) {
  constexpr double kSigns = 40;
  double sum = 0;
  for (const auto& part : breakdown.parts) sum += part.value;
  if (sum <= 0) return "";
  auto text = fmt::format("{}\n", printable(breakdown.title));
  double before = 0;
  for (const auto& part : breakdown.parts) {
    const auto begin = static_cast<std::size_t>(kSigns * before / sum);
    before += part.value;
    const auto end = static_cast<std::size_t>(kSigns * before / sum);
    const auto bar = fmt::format("{}{}", std::string(begin, ' '),
                                 std::string(end - begin, part.reached ? '#' : '-'));
    text += fmt::format("  {:40}  {:.4g} {}  {}\n", bar, part.value, printable(breakdown.unit),
                        printable(part.what));
  }
  return text;
}

}  // namespace

std::string to_text(const Report& report, const RenderOptions& options) {
  const auto from = report.snapshot.empty()
                        ? std::string()
                        : fmt::format("snapshot {}\n", printable(report.snapshot, 4096));
  auto text = findings_table(report, options);
  text += gaps_table(report, options);
  if (options.quiet) return fmt::format("{}{}{}", from, text, verdict_line(report, options));

  text += probes_table(report, options);
  for (const auto& each : report.breakdowns) text += bars(each);
  if (!text.empty()) text.push_back('\n');
  text.insert(0, from);
  text += closing_line(
      "checked",
      fmt::format("{} in {:.1f} ms, context {}{}{}", counted(report.checks.size(), "check"),
                  report.duration_ms, printable(report.context), report.checks.empty() ? "" : ": ",
                  count_by_outcome(report)),
      options);
  if (!report.container.empty()) {
    text += closing_line("inside", printable(report.container), options);
  }
  text += verdict_line(report, options);
  const auto evidence = joined(report.profile_evidence);
  text += closing_line(
      "profile",
      fmt::format("{}{}{}", printable(report.profile), evidence.empty() ? "" : ": ", evidence),
      options);
  return text;
}

}  // namespace muster
