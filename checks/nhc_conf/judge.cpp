// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/judge.hpp"

#include <array>
#include <csignal>
#include <set>

#include "checks/nhc_conf/table.hpp"
#include "checks/run.hpp"
#include "lib/report/summary.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kProbes = "muster.probes";
constexpr std::size_t kLongestCheck = 60;
constexpr std::size_t kLongestDevice = 120;
constexpr std::size_t kLongestMessage = 300;

std::string id_of(const CheckLine& line) {
  return fmt::format("nhc.{}", line.check.empty() ? "line" : printable(line.check, kLongestCheck));
}

std::string not_translated(std::string_view check) {
  std::vector<std::string> names;
  for (const auto& row : table()) names.emplace_back(row.name);
  const auto near = nearest(check, names);
  return fmt::format("{} is not translated, let NHC run it{}", printable(check, kLongestCheck),
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

// True if the reason of its section says that the child that called NVML crashed.
bool crashed(std::string_view reason) {
  constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
  return std::ranges::any_of(kCrashes, [&](int number) {
    return reason.ends_with(fmt::format("killed by signal {}", number));
  });
}

// Returns the finding of a line about GPUs on a node without any; nothing if the checks of GPUs
// report it themselves.
std::optional<Finding> without_gpus(const Snapshot& snapshot) {
  const auto& section = snapshot.nvml;
  const auto fails = [](std::string message) {
    return checks::failed(checks::kNode, std::move(message), Remedy::reboot);
  };
  if (section.status == Status::absent) {
    const bool observed = section.asked() && !snapshot.identity->foreign_root;
    if (observed) return fails(fmt::format("no NVML: {}", section.reason));
    return not_judged(fmt::format("GPUs were not observed: {}", section.reason));
  }
  if (section.status == Status::error && crashed(section.reason)) {
    return fails(fmt::format("NVML crashed: {}", section.reason));
  }
  if (!section.ok()) return std::nullopt;
  if (!section->trouble.empty() && section->trouble_code != 0) {
    return fails(fmt::format("NVML does not work: {}", section->trouble));
  }
  if (!section->trouble.empty()) {
    return not_judged(fmt::format("GPUs were not observed: {}", section->trouble));
  }
  return section->gpus.empty() ? std::optional(fails("NVML lists no GPU")) : std::nullopt;
}

// The first section that the direct judgement needs and that was not observed.
std::optional<std::string> missing_section(const Snapshot& snapshot, const Row& row) {
  std::optional<std::string> missing;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    const bool absent = row.judges_absence && section.status == Status::absent && section.asked();
    if (missing || !row.needs.contains(probe) || section.ok() || absent) return;
    missing = why_missing(probe, section);
  });
  return missing;
}

// muster's own checks. An empty selection would be all checks.
std::vector<const Check*> own_checks(const Row& row) {
  if (row.checks.empty()) return {};
  return select_checks(Profile{}, {.only = {row.checks.begin(), row.checks.end()}});
}

void add_once(std::vector<std::string>& ids, std::string_view id) {
  if (std::ranges::find(ids, id) == ids.end()) ids.emplace_back(id);
}

// Collects the findings of the lines that are judged directly, and for the others the checks that
// run, with their limits.
class Translation {
 public:
  Translation(const Snapshot& snapshot, Profile profile, const Config& config,
              const Measured& measured)
      : snapshot_(snapshot), profile_(std::move(profile)), config_(config), measured_(measured) {}

  void translate(const CheckLine& line) {
    if (!line.complaint.empty()) return refuse(line, line.complaint);
    const Row* row = row_of(line);
    if (row == nullptr) return refuse(line, not_translated(line.check));
    if (const auto found = measured_.find(line.number); found != measured_.end()) {
      return report(line, found->second);
    }
    if (!row->skipped.empty()) {
      return report(line, {checks::skipped(fmt::format("not judged: {}", row->skipped))});
    }
    probes_ = probes_ | row->needs | probes_needed(own_checks(*row));
    if (row->of_gpus && !gpus_are_present(line)) return;
    const auto given = line.arguments.size();
    if (!line.unresolved.empty()) return refuse(line, unknown_variable(line));
    if (given < row->least || given > row->most) {
      return refuse(line, fmt::format("invalid number of arguments: {}", given));
    }
    if (const auto limited = set_limits(line, *row); !limited) {
      return refuse(line, limited.error().message);
    }
    judge_directly(line, *row);
    for (const auto check : row->checks) {
      profile_.policies[std::string(check)].enabled = true;
      add_once(only_, check);
      add_once(ids_, check);
    }
    translated_.emplace_back(line, row);
  }

  [[nodiscard]] Report conclude(const std::string& context) {
    // A hanging driver drains a node under NHC as well, by its watchdog.
    auto report = muster::judge(snapshot_, profile_, {.context = context, .only = only_});
    for (const auto& [line, row] : translated_) refuse_if_skipped(report, line, *row);
    keep_hangs(report);
    report.findings.insert(report.findings.end(), findings_.begin(), findings_.end());
    auto counting = profile_.contexts[context].count_unknown;
    counting.insert(counting.end(), ids_.begin(), ids_.end());
    muster::conclude(report, ids_, counting);
    report.groups = fold(report.findings, snapshot_);
    return report;
  }

 private:
  void refuse(const CheckLine& line, std::string_view why) { report(line, {not_judged(why)}); }

  void report(const CheckLine& line, Findings findings) {
    const auto id = id_of(line);
    add_once(ids_, id);
    for (auto& finding : findings) {
      finding.check = id;
      finding.device = printable(finding.device, kLongestDevice);
      // A file without lines has no number.
      finding.message = fmt::format("{} ({}{})", printable(finding.message, kLongestMessage),
                                    printable(config_.file, kLongestDevice),
                                    line.number == 0 ? "" : fmt::format(":{}", line.number));
      findings_.push_back(std::move(finding));
    }
  }

  // Fails the first line about GPUs if there are none, as nvidia-smi does, and skips the others.
  [[nodiscard]] bool gpus_are_present(const CheckLine& line) {
    auto finding = without_gpus(snapshot_);
    if (!finding) return true;
    if (std::exchange(reported_without_gpus_, true)) {
      finding->outcome = Outcome::skip;
      finding->remedy = Remedy::none;
    }
    report(line, {*std::move(finding)});
    return false;
  }

  // An empty or missing argument leaves the limit to the profile.
  [[nodiscard]] Result<void> set_limits(const CheckLine& line, const Row& row) {
    constexpr std::uint64_t kMaxLimit = 2'000'000'000;
    for (std::size_t i = 0; i < row.limits.size(); ++i) {
      const auto word = line.argument(i);
      const auto& [key, set] = row.limits[i];
      if (word.empty()) continue;
      const auto value = parse_unsigned(word);
      if (!value || *value > kMaxLimit) {
        return unexpected_word(word, "a whole number");
      }
      const auto number = static_cast<int>(*value);
      if (const auto [limit, is_new] = limits_.emplace(key, number);
          !is_new && limit->second != number) {
        return make_error("{} is {} in an earlier line", key, limit->second);
      }
      set(profile_, number);
      // A line's limit fails, whatever the profile does with its own limits.
      profile_.policies[std::string(key.substr(0, key.rfind('.')))].fail_as = Outcome::fail;
    }
    return {};
  }

  void judge_directly(const CheckLine& line, const Row& row) {
    if (row.judge == nullptr) return;
    if (const auto missing = missing_section(snapshot_, row)) return refuse(line, *missing);
    auto findings = row.judge({snapshot_, profile_, line});
    if (!findings) return refuse(line, findings.error().message);
    if (!findings->empty()) report(line, *std::move(findings));
  }

  // A line must not pass because none of its checks had anything to judge.
  void refuse_if_skipped(const Report& judged, const CheckLine& line, const Row& row) {
    const auto& checks = row.checks;
    const auto skips = [&](std::string_view check) {
      const auto found = std::ranges::find(judged.checks, check, &CheckResult::id);
      return found == judged.checks.end() || found->outcome == Outcome::skip;
    };
    if (checks.empty() || row.may_skip || row.judge != nullptr) return;
    if (!std::ranges::all_of(checks, skips)) return;
    const auto skip = std::ranges::find(judged.findings, checks.back(), &Finding::check);
    refuse(line, skip == judged.findings.end() ? "nothing was observed" : skip->message);
  }

  // Reports only hanging probes that the lines need.
  void keep_hangs(Report& judged) {
    std::set<std::string_view> hanging;
    for_each_section(snapshot_, [&](Probe probe, const auto& section) {
      if (probes_.contains(probe) && section.status == Status::timeout) {
        hanging.insert(to_string(probe));
      }
    });
    std::erase_if(judged.findings, [&](const Finding& finding) {
      return finding.check == kProbes && !hanging.contains(finding.device);
    });
    if (!hanging.empty()) ids_.insert(ids_.begin(), std::string(kProbes));
  }

  const Snapshot& snapshot_;
  Profile profile_;  // with the limits of the lines
  const Config& config_;
  const Measured& measured_;
  std::vector<std::string> ids_;                         // in the order of the file
  std::vector<std::string> only_{std::string(kProbes)};  // muster's own checks that run
  std::map<std::string_view, int> limits_;
  std::vector<std::pair<CheckLine, const Row*>> translated_;
  ProbeSet probes_;
  bool reported_without_gpus_ = false;
  Findings findings_;
};

}  // namespace

std::span<const Row> table() {
  static const std::vector<Row> rows = [] {
    auto all = host_rows();
    std::ranges::move(device_rows(), std::back_inserter(all));
    std::ranges::move(benchmark_rows(), std::back_inserter(all));
    return all;
  }();
  return rows;
}

const Row* row_of(const CheckLine& line) {
  const auto rows = table();
  for (const auto& name : {fmt::format("{} {}", line.check, line.argument(1)), line.check}) {
    const auto found = std::ranges::find(rows, name, &Row::name);
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

Needs needs_of(const Config& config, bool active) {
  Needs needs{.probes = Probe::identity, .parts = {}};
  for (const auto& line : check_lines(config)) {
    const Row* row = row_of(line);
    if (row == nullptr) continue;
    const auto checks = own_checks(*row);
    needs.probes = needs.probes | row->needs | probes_needed(checks);
    needs.parts = needs.parts | parts_asked(checks);
    if (active && row->benchmark != nullptr && row->of_gpus) {
      needs.probes = needs.probes | Probe::nvml;
    }
  }
  return needs;
}

Report judge(const Snapshot& snapshot, Profile profile, const Config& config,
             const std::string& context, const Measured& measured) {
  const auto& node = snapshot.identity->hostname;
  Translation translation(snapshot, std::move(profile), config, measured);
  const auto lines = check_lines(config, node);
  for (const auto& line : lines) translation.translate(line);
  if (lines.empty()) {
    translation.translate(
        {.number = static_cast<int>(config.lines.size()),
         .complaint = fmt::format("no line is for {}", node.empty() ? "this node" : node)});
  }
  return translation.conclude(context);
}

}  // namespace muster::nhc
