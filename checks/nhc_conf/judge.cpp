// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "checks/folding.hpp"
#include "checks/nhc_conf/table.hpp"
#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/report/verdict.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kGroup = "nhc.";
constexpr std::string_view kLine = "nhc.line";  // of a line without a check
constexpr std::size_t kLongestCheck = 60;
constexpr std::size_t kLongestDevice = 120;
constexpr std::size_t kLongestMessage = 300;

std::string id_of(const CheckLine& line) {
  if (line.check.empty()) return std::string(kLine);
  return fmt::format("{}{}", kGroup, printable(line.check, kLongestCheck));
}

std::string unknown_check(std::string_view name) {
  if (!name.starts_with("check_")) {
    return fmt::format(
        "{} is no check; muster runs commands by check_cmd_status and "
        "check_cmd_output alone",
        printable(name, kLongestCheck));
  }
  std::vector<std::string> names;
  for (const auto& row : table()) names.emplace_back(row.name);
  const auto near = nearest(name, names);
  const auto hint = near.empty() ? std::string() : fmt::format("; did you mean {}?", near);
  return fmt::format("there is no check {}{}", printable(name, kLongestCheck), hint);
}

// Of a section's own words: the child that asked NVML crashed.
bool crashed(std::string_view reason) {
  constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
  return std::ranges::any_of(kCrashes, [&](int number) {
    return reason.ends_with(fmt::format("killed by signal {}", number));
  });
}

// What a line about GPUs comes to where there is none to judge; nothing where there is one, or
// where muster.probes and the checks say for themselves what hindered them.
std::optional<Finding> without_gpus(const Snapshot& snapshot) {
  const auto& section = snapshot.nvml;
  const auto fails = [](std::string_view what, std::string_view why) {
    return failed(fmt::format("{}: {}", what, why), Remedy::reboot);
  };
  if (section.status == Status::absent) {
    const bool seen = section.asked() && !snapshot.identity->foreign_root;
    if (!seen) return not_judged(fmt::format("GPUs were not observed: {}", section.reason));
    return fails("there is no NVML", section.reason);
  }
  if (section.status == Status::error && crashed(section.reason)) {
    return fails("NVML crashed", section.reason);
  }
  if (!section.ok()) return std::nullopt;
  if (!section->trouble.empty() && section->trouble_code != 0) {
    return fails("NVML cannot be used", section->trouble);
  }
  if (!section->trouble.empty()) {
    return not_judged(fmt::format("the GPUs are not known: {}", section->trouble));
  }
  if (section->gpus.empty()) return failed("NVML lists no GPU", Remedy::reboot);
  return std::nullopt;
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
std::optional<std::string> obstacle(const Snapshot& snapshot, const Row& row, const CheckLine& line,
                                    ProbeSet needs) {
  if (!line.unresolved.empty()) return unknown_variable(line);
  const auto given = line.arguments.size();
  if (given < row.least || given > row.most) return wrong_arity(row, given);
  std::optional<std::string> missing;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    const bool counts = row.absence_counts && section.status == Status::absent && section.asked();
    if (!needs.contains(probe) || section.ok() || counts || missing) return;
    missing = why_missing(probe, section);
  });
  return missing;
}

void add_once(std::vector<std::string>& ids, std::string_view id) {
  if (std::ranges::find(ids, id) == ids.end()) ids.emplace_back(id);
}

// Checks of muster's own, with limits that do not contradict each other: two lines that set one
// limit to two values are judged one after the other.
struct Batch {
  std::vector<std::string> checks;
  std::vector<Preset> presets;

  [[nodiscard]] bool contradicts(const std::vector<Preset>& others) const {
    return std::ranges::any_of(others, [&](const Preset& other) {
      const auto mine = std::ranges::find(presets, other.key, &Preset::key);
      return mine != presets.end() && mine->value != other.value;
    });
  }

  void add(const Row& row, const std::vector<Preset>& more) {
    presets.insert(presets.end(), more.begin(), more.end());
    for (const auto check : row.checks) add_once(checks, check);
  }
};

// Without those that say whether there are GPUs at all, where the line asks for more.
std::vector<std::string_view> own_checks(const Row& row) {
  auto checks = row.checks;
  if (!row.of_gpus || checks.size() <= 2) return checks;
  std::erase_if(checks, [](std::string_view check) {
    return check == "gpu.driver" || check == "gpu.present";
  });
  return checks;
}

// Those that answer a line; an empty selection would be all there are.
std::vector<const Check*> checks_of(const Row& row) {
  if (row.checks.empty()) return {};
  std::vector<std::string> ids(row.checks.begin(), row.checks.end());
  return select_checks(Profile{}, {.only = std::move(ids)});
}

ProbeSet needs_of_row(const Row& row) { return row.needs | probes_needed(checks_of(row)); }

// Collects what the lines come to: the findings of those that are judged here, and for the others
// which of muster's own checks run, with which limits.
class Lines {
 public:
  Lines(const Snapshot& snapshot, const Config& config, const Measured& measured)
      : snapshot_(snapshot), config_(config), measured_(measured) {}

  void take(const CheckLine& line) {
    if (!line.complaint.empty()) return refuse(line, line.complaint);
    const Row* row = row_of(line);
    if (row == nullptr) return refuse(line, unknown_check(line.check));
    if (const auto found = measured_.find(line.number); found != measured_.end()) {
      return add(line, found->second);
    }
    if (!row->why.empty()) {
      auto finding = not_judged(row->why);
      finding.outcome = row->otherwise;
      return add(line, {std::move(finding)});
    }
    const bool literal = config_.strict && row->literal != nullptr;
    needs_ = needs_ | (literal ? row->literal_needs : needs_of_row(*row));
    if (row->of_gpus && !gpus_are_there(line)) return;
    const auto judge = literal ? row->literal : row->judge;
    const auto needs = literal ? row->literal_needs : row->needs;
    if (const auto why = obstacle(snapshot_, *row, line, needs)) {
      refuse(line, *why);
    } else if (judge != nullptr) {
      add(line, judge(snapshot_, line.arguments));
    }
    if (!literal && !row->checks.empty()) translate(line, *row);
  }

  // Where muster's own checks have nothing of the profile to judge by, Azure's reading stands; and
  // without one the line is not healthy in silence.
  void account_for(const Report& report, const Profile& profile) {
    for (const auto& [line, row] : translated_) {
      const auto checks = own_checks(*row);
      const auto skipped = [&](std::string_view check) {
        const auto found = std::ranges::find(report.checks, check, &CheckResult::id);
        return found == report.checks.end() || found->outcome == Outcome::skip;
      };
      const bool limited = row->without_limit == nullptr || !row->without_limit(profile);
      const bool judged = limited && !std::ranges::all_of(checks, skipped);
      if (row->judge != nullptr || judged) continue;
      if (row->literal == nullptr) {
        const auto said = std::ranges::find(report.findings, checks.back(), &Finding::check);
        refuse(line, said == report.findings.end() ? "nothing was observed" : said->message);
      } else if (const auto why = obstacle(snapshot_, *row, line, row->literal_needs)) {
        refuse(line, *why);
      } else {
        add(line, row->literal(snapshot_, line.arguments));
      }
    }
  }

  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }

  [[nodiscard]] const std::vector<Batch>& batches() const { return batches_; }

  [[nodiscard]] ProbeSet needs() const { return needs_; }

  [[nodiscard]] const Findings& findings() const { return findings_; }

 private:
  void refuse(const CheckLine& line, std::string_view why) { add(line, {not_judged(why)}); }

  void add(const CheckLine& line, Findings findings) {
    const auto id = id_of(line);
    add_once(ids_, id);
    for (auto& finding : findings) {
      finding.check = id;
      finding.device = printable(finding.device, kLongestDevice);
      finding.message = fmt::format("{} ({}:{})", printable(finding.message, kLongestMessage),
                                    printable(config_.file, kLongestDevice), line.number);
      findings_.push_back(std::move(finding));
    }
  }

  // nvidia-smi fails where it finds no GPU, and so does a line that asks it. Said once.
  [[nodiscard]] bool gpus_are_there(const CheckLine& line) {
    auto finding = without_gpus(snapshot_);
    if (!finding) return true;
    if (std::exchange(said_without_gpus_, true)) {
      finding->outcome = Outcome::skip;
      finding->remedy = Remedy::none;
    }
    add(line, {*std::move(finding)});
    return false;
  }

  void translate(const CheckLine& line, const Row& row) {
    const auto presets = presets_of(row, line.arguments);
    if (!presets) return refuse(line, presets.error().message);
    auto batch = std::ranges::find_if(
        batches_, [&](const Batch& each) { return !each.contradicts(*presets); });
    if (batch == batches_.end()) batch = batches_.insert(batch, Batch{});
    batch->add(row, *presets);
    for (const auto check : row.checks) add_once(ids_, check);
    translated_.emplace_back(line, &row);
  }

  const Snapshot& snapshot_;
  const Config& config_;
  const Measured& measured_;
  std::vector<std::string> ids_;  // all, in the file's order
  std::vector<Batch> batches_;
  std::vector<std::pair<CheckLine, const Row*>> translated_;
  ProbeSet needs_;
  bool said_without_gpus_ = false;
  Findings findings_;
};

void adapt(Profile& profile, const Batch& batch) {
  // The table's own tests hold every preset to a key that there is.
  (void)apply(batch.presets, profile);
  for (const auto& check : batch.checks) profile.policies[check].enabled = true;
  // A limit that a line names is one to fail at.
  for (const auto& preset : batch.presets) {
    profile.policies[preset.key.substr(0, preset.key.rfind('.'))].fail_as = Outcome::fail;
  }
}

bool is_in(const Findings& findings, const Finding& finding) {
  return std::ranges::any_of(findings, [&](const Finding& each) {
    return each.check == finding.check && each.device == finding.device &&
           each.outcome == finding.outcome && each.message == finding.message;
  });
}

Report judge_batch(const Snapshot& snapshot, Profile profile, const Batch& batch,
                   const std::string& context) {
  adapt(profile, batch);
  // An empty selection would be all checks, so it is one that no check matches.
  auto only = batch.checks;
  if (only.empty()) only.emplace_back();
  return muster::judge(snapshot, profile, {.context = context, .only = std::move(only)});
}

// Of one batch after the other, each finding once.
Report judge_batches(const Snapshot& snapshot, const Profile& profile,
                     const std::vector<Batch>& batches, const std::string& context) {
  auto report =
      judge_batch(snapshot, profile, batches.empty() ? Batch{} : batches.front(), context);
  for (std::size_t i = 1; i < batches.size(); ++i) {
    for (auto& finding : judge_batch(snapshot, profile, batches[i], context).findings) {
      if (!is_in(report.findings, finding)) report.findings.push_back(std::move(finding));
    }
  }
  return report;
}

// What hangs under NHC runs into its watchdog, and the node is drained.
void add_hangs(const Snapshot& snapshot, const Profile& profile, ProbeSet needs,
               std::vector<std::string>& ids, Report& report) {
  const std::string probes = "muster.probes";
  std::set<std::string_view> hanging;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (!needs.contains(probe) || section.status != Status::timeout) return;
    hanging.insert(to_string(probe));
  });
  if (hanging.empty()) return;
  auto hangs = muster::judge(snapshot, profile, {.context = report.context, .only = {probes}});
  for (auto& finding : hangs.findings) {
    if (hanging.contains(finding.device)) report.findings.push_back(std::move(finding));
  }
  ids.insert(ids.begin(), probes);
}

}  // namespace

Needs needs_of(const Config& config, bool active) {
  Needs needs{.probes = Probe::identity};
  for (const auto& line : all_check_lines(config)) {
    const Row* row = row_of(line);
    if (row == nullptr) continue;
    const bool literal = config.strict && row->literal != nullptr;
    needs.probes = needs.probes | (literal ? row->literal_needs : needs_of_row(*row));
    needs.parts = needs.parts | (literal ? row->literal_parts : parts_asked(checks_of(*row)));
    if (active && row->benchmark != nullptr && row->of_gpus) {
      needs.probes = needs.probes | Probe::nvml;
    }
    needs.processes = needs.processes || row->all_processes;
    if (row->asks_for_users != nullptr) {
      needs.sockets = true;
      const auto users = row->asks_for_users(line.arguments);
      needs.processes = needs.processes || users;
      if (users) needs.probes = needs.probes | Probe::processes;
    }
    if (row->files_of == nullptr) continue;
    const auto files = row->files_of(line.arguments);
    needs.files.insert(needs.files.end(), files.begin(), files.end());
    if (row->reads_files) {
      needs.contents.insert(needs.contents.end(), files.begin(), files.end());
    }
  }
  return needs;
}

Report judge(const Snapshot& snapshot, Profile profile, const Config& config,
             const std::string& context, const Measured& measured) {
  const auto& node = snapshot.identity->hostname;
  Lines lines(snapshot, config, measured);
  const auto check_lines = check_lines_on(config, node);
  for (const auto& line : check_lines) lines.take(line);
  if (check_lines.empty()) {
    lines.take({.number = static_cast<int>(config.lines.size()),
                .complaint = fmt::format("no line is for {}", node.empty() ? "this node" : node)});
  }
  auto report = judge_batches(snapshot, profile, lines.batches(), context);
  lines.account_for(report, profile);
  auto ids = lines.ids();
  add_hangs(snapshot, profile, lines.needs(), ids, report);
  auto& counting = profile.contexts[context].count_unknown;
  counting.insert(counting.end(), ids.begin(), ids.end());
  const auto& own = lines.findings();
  report.findings.insert(report.findings.end(), own.begin(), own.end());
  conclude(report, ids, counting);
  report.groups = fold(report.findings, snapshot);
  return report;
}

}  // namespace muster::nhc
