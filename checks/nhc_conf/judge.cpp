// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "checks/nhc_conf/table.hpp"
#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/report/verdict.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kGroup = "nhc.";
constexpr std::string_view kLine = "nhc.line";  // of a line without a check
constexpr std::size_t kLongestName = 60;
constexpr std::size_t kLongestDevice = 120;
constexpr std::size_t kLongestMessage = 300;

std::string id_of(const CheckLine& line) {
  if (line.check.empty()) return std::string(kLine);
  return fmt::format("{}{}", kGroup, printable(line.check, kLongestName));
}

std::string unknown_check(std::string_view name) {
  if (!name.starts_with("check_")) {
    return fmt::format("{} is no check, and muster runs no commands of a configuration",
                       printable(name, kLongestName));
  }
  std::vector<std::string> names;
  for (const auto& row : table()) names.emplace_back(row.name);
  const auto near = nearest(name, names);
  const auto hint = near.empty() ? std::string() : fmt::format("; did you mean {}?", near);
  return fmt::format("there is no check {}{}", printable(name, kLongestName), hint);
}

std::string wrong_arity(const Row& row, std::size_t given) {
  std::string wanted;
  if (row.least == row.most) {
    wanted = checks::counted(row.least, "argument");
  } else if (row.most == kAny) {
    wanted = fmt::format("at least {}", checks::counted(row.least, "argument"));
  } else {
    wanted = fmt::format("{} to {} arguments", row.least, row.most);
  }
  return fmt::format("{} takes {}, got {}", row.name, wanted, given);
}

// Why the line cannot be judged at all; empty where it can.
std::optional<std::string> obstacle(const Snapshot& snapshot,
                                    const Row& row,
                                    const CheckLine& line) {
  if (!line.unresolved.empty()) {
    return fmt::format("the variable ${} is not known", printable(line.unresolved, 40));
  }
  const auto given = line.arguments.size();
  if (given < row.least || given > row.most) return wrong_arity(row, given);
  std::optional<std::string> missing;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    const bool counts = row.absence_counts && section.status == Status::absent && section.asked();
    if (!row.needs.contains(probe) || section.ok() || counts || missing) return;
    missing = why_missing(probe, section);
  });
  return missing;
}

// Collects what the lines come to: the findings of those that are judged here, and for the others
// which of muster's own checks run, with which limits.
class Lines {
 public:
  Lines(const Snapshot& snapshot, const Config& config, const Measured& measured)
      : snapshot_(snapshot), config_(config), measured_(measured) {}

  void take(const CheckLine& line) {
    if (!line.complaint.empty()) return refuse(line, line.complaint);
    const Row* row = row_named(line.check);
    if (row == nullptr) return refuse(line, unknown_check(line.check));
    if (const auto found = measured_.find(line.number); found != measured_.end()) {
      return add(line, found->second);
    }
    if (!row->why.empty()) {
      auto finding = not_judged(row->why);
      finding.outcome = row->otherwise;
      return add(line, {std::move(finding)});
    }
    if (const auto why = obstacle(snapshot_, *row, line)) return refuse(line, *why);
    if (row->judge != nullptr) return add(line, row->judge(snapshot_, line.arguments));
    translate(line, *row);
  }

  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }

  [[nodiscard]] const std::vector<std::string>& checks() const { return checks_; }

  [[nodiscard]] const std::vector<Preset>& presets() const { return presets_; }

  [[nodiscard]] const Findings& findings() const { return findings_; }

 private:
  void refuse(const CheckLine& line, std::string_view why) { add(line, {not_judged(why)}); }

  void add(const CheckLine& line, Findings findings) {
    const auto id = id_of(line);
    list(id);
    for (auto& finding : findings) {
      finding.check = id;
      finding.device = printable(finding.device, kLongestDevice);
      finding.message = fmt::format("{} ({}:{})",
                                    printable(finding.message, kLongestMessage),
                                    printable(config_.file, kLongestDevice),
                                    line.number);
      findings_.push_back(std::move(finding));
    }
  }

  void list(const std::string& id) {
    if (std::ranges::find(ids_, id) == ids_.end()) ids_.push_back(id);
  }

  void translate(const CheckLine& line, const Row& row) {
    Result<std::vector<Preset>> presets;
    if (row.translate != nullptr) presets = row.translate(line.arguments);
    if (!presets) return refuse(line, presets.error().message);
    for (const auto& preset : *presets) {
      const auto earlier = std::ranges::find(presets_, preset.key, &Preset::key);
      if (earlier != presets_.end() && earlier->value != preset.value) {
        return refuse(line,
                      fmt::format("a line before sets {} to {}, this one to {}",
                                  preset.key,
                                  printable(earlier->value, 40),
                                  printable(preset.value, 40)));
      }
    }
    presets_.insert(presets_.end(), presets->begin(), presets->end());
    for (const auto check : row.checks) {
      list(std::string(check));
      if (std::ranges::find(checks_, check) == checks_.end()) checks_.emplace_back(check);
    }
  }

  const Snapshot& snapshot_;
  const Config& config_;
  const Measured& measured_;
  std::vector<std::string> ids_;     // all, in the file's order
  std::vector<std::string> checks_;  // those of muster's own among them
  std::vector<Preset> presets_;
  Findings findings_;
};

void adapt(Profile& profile, const Lines& lines, const std::string& context) {
  // The table's own tests hold every preset to a key that there is.
  (void)apply(lines.presets(), profile);
  auto& counting = profile.contexts[context].count_unknown;
  for (const auto& check : lines.checks()) {
    profile.policies[check].enabled = true;
    counting.push_back(check);
  }
  counting.emplace_back("nhc.*");
}

}  // namespace

Needs needs_of(const Config& config, bool active) {
  Needs needs{.probes = Probe::identity};
  std::vector<std::string> checks;
  for (const auto& line : all_check_lines(config)) {
    const Row* row = row_named(line.check);
    if (row == nullptr) continue;
    needs.probes = needs.probes | row->needs;
    if (active && row->benchmark != nullptr) needs.probes = needs.probes | Probe::nvml;
    for (const auto check : row->checks) checks.emplace_back(check);
    if (row->judge != judge_file_test) continue;
    for (auto& file : tested_files(line.arguments)) needs.files.push_back(std::move(file));
  }
  if (checks.empty()) return needs;
  const auto selected = select_checks(Profile{}, {.only = std::move(checks)});
  needs.probes = needs.probes | probes_needed(selected);
  needs.parts = parts_asked(selected);
  return needs;
}

Report judge(const Snapshot& snapshot,
             Profile profile,
             const Config& config,
             const std::string& context,
             const Measured& measured) {
  const auto& node = snapshot.identity->hostname;
  Lines lines(snapshot, config, measured);
  const auto check_lines = check_lines_on(config, node);
  for (const auto& line : check_lines) lines.take(line);
  if (check_lines.empty()) {
    lines.take({.number = static_cast<int>(config.lines.size()),
                .complaint = fmt::format("no line is for {}", node.empty() ? "this node" : node)});
  }
  adapt(profile, lines, context);
  // An empty selection would be all checks, so it is one that no check matches.
  auto only = lines.checks();
  if (only.empty()) only.emplace_back();
  auto report = muster::judge(snapshot, profile, {.context = context, .only = std::move(only)});
  const auto& own = lines.findings();
  report.findings.insert(report.findings.end(), own.begin(), own.end());
  conclude(report, lines.ids(), profile.contexts[context].count_unknown);
  return report;
}

}  // namespace muster::nhc
