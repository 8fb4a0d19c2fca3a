// SPDX-License-Identifier: Apache-2.0

#include "slurm/rules/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster::slurm {
namespace {

constexpr std::array<std::string_view, 10> kKinds = {"drained",  "refused", "resumed",  "stopped",
                                                     "accepted", "undone",  "released", "kept",
                                                     "over",     "trouble"};
constexpr double kLongestTell = 30;  // seconds

constexpr int kLargestNice = 2147483645;  // of Slurm

// Options that the sweep sets, and those that would keep it from following its jobs.
constexpr std::array<std::string_view, 26> kOwnOptions = {
    "--account",    "--array",    "--begin",     "--chdir",      "--comment",  "--deadline",
    "--dependency", "--error",    "--exclude",   "--exclusive",  "--export",   "--export-file",
    "--hold",       "--job-name", "--nice",      "--no-requeue", "--nodelist", "--nodes",
    "--output",     "--parsable", "--partition", "--qos",        "--requeue",  "--time",
    "--wait",       "--wrap"};
constexpr std::array<std::string_view, 3> kOwnBenchOptions = {"--format", "--output", "--rank"};

struct Range {
  std::string_view key;
  double value;
  double least, most;
  std::string_view words;
};

// One word on a command line, and in syslog.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

BrokenValue check_ranges(std::initializer_list<Range> ranges) {
  for (const auto& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return {std::string(range.key), fmt::format("must be {}", range.words)};
  }
  return {};
}

BrokenValue check_sweep_ranges(const SweepRules& rules) {
  return check_ranges(
      {{"every", rules.every.value, 3600, 365 * kDay, "1 h to 365 d"},
       {"time", rules.time.value, kMinute, kDay, "1 min to 1 d"},
       {"start_within", rules.start_within.value, kMinute, 7 * kDay, "1 min to 7 d"},
       {"most_jobs", static_cast<double>(rules.most_jobs), 1, 1000, "1 to 1000"},
       {"most_nodes", static_cast<double>(rules.most_nodes), 4, 4096, "4 to 4096"},
       {"nice", static_cast<double>(rules.nice), 0, kLargestNice, "0 to 2147483645"}});
}

// "locate or node".
std::string all_kinds() {
  std::vector<std::string_view> names;
  for (const auto& kind : kSweepKinds) names.push_back(kind.name);
  return fmt::format("{}", fmt::join(names, " or "));
}

BrokenValue check_kinds(const SweepRules& rules) {
  if (rules.kinds.empty()) {
    return {"kinds", fmt::format("is empty; write {}, or both", all_kinds())};
  }
  for (const auto& kind : rules.kinds) {
    if (find_sweep_kind(kind) == nullptr) {
      return {"kinds", fmt::format("has {}; write {}", in_quotes(kind), all_kinds())};
    }
    if (std::ranges::count(rules.kinds, kind) > 1) {
      return {"kinds", fmt::format("has {} twice", in_quotes(kind))};
    }
  }
  return {};
}

// Each option is one word, since no shell splits it.
template <std::size_t size>
BrokenValue check_options(std::string_view key, const std::vector<std::string>& options,
                          const std::array<std::string_view, size>& own) {
  for (const auto& option : options) {
    const auto name = std::string_view(option).substr(0, option.find('='));
    if (!option.starts_with("--") || name.size() < 3 || !is_plain(name)) {
      return {std::string(key), fmt::format("has {}; write each option as --name or --name=value",
                                            in_quotes(option))};
    }
    // getopt accepts abbreviations.
    const bool taken = std::ranges::any_of(
        own, [&](std::string_view other) { return other == name || other.starts_with(name); });
    if (taken) {
      return {std::string(key), fmt::format("has {}, which the sweep decides", in_quotes(name))};
    }
  }
  return {};
}

struct Text {
  std::string_view key;
  const std::string& value;
};

BrokenValue check_names(const SweepRules& rules) {
  for (const auto& [key, value] : {Text{"account", rules.account}, Text{"qos", rules.qos}}) {
    if (!is_plain(value)) return {std::string(key), fmt::format("is {}", in_quotes(value))};
  }
  for (const auto& partition : rules.partitions) {
    if (partition.empty() || !is_plain(partition) || partition.find(',') != std::string::npos) {
      return {"partitions", fmt::format("has {}", in_quotes(partition))};
    }
  }
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  for (const auto& [name, value] : rules.environment) {
    if (!name.empty() && name.find_first_not_of(kLetters) == std::string::npos) continue;
    return {fmt::format("environment.{}", name), "is not a valid variable name"};
  }
  return {};
}

BrokenValue check_paths(const SweepRules& rules) {
  for (const auto& [key, value] : {Text{"script", rules.script}, Text{"results", rules.results}}) {
    if (value.empty()) continue;
    // Slurm expands % in the name of an output file.
    if (value.starts_with('/') && value.find('%') == std::string::npos && is_plain(value)) continue;
    return {std::string(key), fmt::format("is {}; write an absolute path", in_quotes(value))};
  }
  return {};
}

// slurmd kills a health check after 60 s, and a killed hook reports nothing.
constexpr double kLongestHook = 55;

constexpr double kAll = 100;  // percent

BrokenValue check_rule_ranges(const Rules& rules) {
  constexpr double kAny = std::numeric_limits<double>::max();
  constexpr std::string_view kHookTime = "3 s to 55 s";
  return check_ranges({{"clean_runs", static_cast<double>(rules.clean_runs), 1, kAny, "at least 1"},
                       {"flaps", static_cast<double>(rules.flaps), 1, kAny, "at least 1"},
                       {"prolog_budget", rules.prolog_budget.value, 3, kLongestHook, kHookTime},
                       {"epilog_budget", rules.epilog_budget.value, 3, kLongestHook, kHookTime},
                       {"health_budget", rules.health_budget.value, 3, kLongestHook, kHookTime},
                       {"tests_budget", rules.tests_budget.value, 5, 10 * kMinute, "5 s to 10 min"},
                       {"controller_deadline", rules.controller_deadline.value,
                        std::numeric_limits<double>::min(), kAny, "above 0"}});
}

BrokenValue check_words(const Rules& rules) {
  if (rules.on_trouble != "pass" && rules.on_trouble != "fail") {
    return {"on_trouble", fmt::format("is {}; write pass or fail", in_quotes(rules.on_trouble))};
  }
  if (rules.memory != "extra" && rules.memory != "comment" && rules.memory != "none") {
    return {"memory", fmt::format("is {}; write extra, comment or none", in_quotes(rules.memory))};
  }
  // A hook starts in slurmd's folder.
  if (!rules.nhc_conf.empty() && !rules.nhc_conf.starts_with('/')) {
    return {"nhc_conf", fmt::format("is {}; write the whole path", in_quotes(rules.nhc_conf))};
  }
  for (const auto& [check, word] : rules.unknown) {
    if (word == "keep" || word == "drain") continue;
    return {fmt::format("unknown.{}", check),
            fmt::format("is {}; write keep or drain", in_quotes(word))};
  }
  return {};
}

BrokenValue check_limits(const Rules& rules) {
  struct Limit {
    std::string_view key;
    const std::string& share;
    int nodes;
  };

  for (const auto& [key, share, nodes] :
       {Limit{"most_drained", rules.most_drained, rules.most_drained_nodes},
        Limit{"most_standing", rules.most_standing, rules.most_standing_nodes},
        Limit{"most_in_repair", rules.most_in_repair, rules.most_in_repair_nodes},
        Limit{"most_by_check", rules.most_by_check, rules.most_by_check_nodes}}) {
    const auto percent = parse_share(share);
    if (!percent) {
      return {
          std::string(key),
          fmt::format("is {}; write a share, as {}: 10%, and a number of nodes, as {}_nodes: 20",
                      in_quotes(share), key, key)};
    }
    if (*percent > kAll) return {std::string(key), "is more than all nodes"};
    if (nodes < 0) return {fmt::format("{}_nodes", key), "must be 0 or more"};
  }
  return {};
}

}  // namespace

// node_exporter reads no file with another name.
BrokenValue check_metrics(const MetricsRules& rules) {
  const bool is_usable = rules.file.starts_with('/') && rules.file.ends_with(".prom");
  if (!rules.file.empty() && !is_usable) {
    return {"file",
            fmt::format("is {}; write an absolute path that ends in .prom", in_quotes(rules.file))};
  }
  if (rules.values == "own" || rules.values == "all") return {};
  return {"values", fmt::format("is {}; write own or all", in_quotes(rules.values))};
}

BrokenValue check_tell(const TellRules& rules) {
  if (!rules.program.empty() && !rules.program.starts_with('/')) {
    return {"program", fmt::format("is {}; write the whole path", in_quotes(rules.program))};
  }
  if (rules.deadline.value <= 0 || rules.deadline.value > kLongestTell) {
    return {"deadline",
            fmt::format("is {}; it must be above 0 and at most 30 s", to_string(rules.deadline))};
  }
  if (rules.user.empty()) return {"user", "is empty; write nobody, or root"};
  for (const auto& kind : rules.events) {
    if (std::ranges::find(kKinds, kind) != kKinds.end()) continue;
    return {"events", fmt::format("has \"{}\"; write some of {}", printable(kind, 60),
                                  fmt::format("{}", fmt::join(kKinds, ", ")))};
  }
  return {};
}

BrokenValue check_sweep(const SweepRules& rules) {
  for (const auto& broken :
       {check_sweep_ranges(rules), check_kinds(rules), check_names(rules), check_paths(rules),
        check_options("options", rules.options, kOwnOptions),
        check_options("bench", rules.bench, kOwnBenchOptions)}) {
    if (!broken.key.empty()) return broken;
  }
  return {};
}

std::string in_quotes(std::string_view word) { return fmt::format("\"{}\"", printable(word, 60)); }

std::optional<double> parse_share(std::string_view text) {
  text = trim(text);
  if (!text.ends_with('%')) return std::nullopt;
  const auto percent = parse_number(trim(text.substr(0, text.size() - 1)));
  return percent && *percent >= 0 ? std::optional(*percent) : std::nullopt;
}

std::chrono::seconds whole(Seconds seconds) {
  constexpr double kMaxSeconds = 1e9;  // some thirty years: times stay in range
  return std::chrono::seconds(static_cast<std::int64_t>(std::min(seconds.value, kMaxSeconds)));
}

BrokenValue check_values(const Rules& rules) {
  if (auto broken = check_words(rules); !broken.key.empty()) return broken;
  if (auto broken = check_limits(rules); !broken.key.empty()) return broken;
  constexpr std::array<std::string_view, 4> kLevels{"none", "quick", "full", "soak"};
  if (std::ranges::find(kLevels, rules.gate_sweep) == kLevels.end()) {
    return {"gate_sweep", fmt::format("must be none, quick, full or soak, not \"{}\"",
                                      printable(rules.gate_sweep, 40))};
  }
  if (auto broken = check_rule_ranges(rules); !broken.key.empty()) return broken;
  if (rules.spread.value > rules.health_budget.value / 2) {
    return {"spread", "is more than half of health_budget"};
  }
  if (auto broken = check_metrics(rules.metrics); !broken.key.empty()) {
    broken.key = fmt::format("metrics.{}", broken.key);
    return broken;
  }
  if (auto broken = check_tell(rules.tell); !broken.key.empty()) {
    broken.key = fmt::format("tell.{}", broken.key);
    return broken;
  }
  auto broken = check_sweep(rules.sweep);
  if (!broken.key.empty()) broken.key = fmt::format("sweep.{}", broken.key);
  return broken;
}

}  // namespace muster::slurm
