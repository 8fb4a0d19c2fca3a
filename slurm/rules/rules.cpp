// SPDX-License-Identifier: Apache-2.0

#include "slurm/rules/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/report/node_tests.hpp"

namespace muster::slurm {
namespace {

constexpr std::array<std::string_view, 10> kKinds = {"drained",  "refused", "resumed",  "stopped",
                                                     "accepted", "undone",  "released", "kept",
                                                     "over",     "trouble"};
constexpr int kLargestNice = 2147483645;  // of Slurm

// Options that the sweep sets, and those that would keep it from following its jobs.
constexpr std::array<std::string_view, 26> kOwnOptions = {
    "--account",    "--array",    "--begin",     "--chdir",      "--comment",  "--deadline",
    "--dependency", "--error",    "--exclude",   "--exclusive",  "--export",   "--export-file",
    "--hold",       "--job-name", "--nice",      "--no-requeue", "--nodelist", "--nodes",
    "--output",     "--parsable", "--partition", "--qos",        "--requeue",  "--time",
    "--wait",       "--wrap"};
constexpr std::array<std::string_view, 3> kOwnBenchOptions = {"--format", "--output", "--rank"};

std::string in_quotes(std::string_view word) { return fmt::format("\"{}\"", printable(word, 60)); }

// One word on a command line, and in syslog.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

BrokenValue check_ranges(const Rules& rules) {
  struct Range {
    const char* key;
    double value, least, most;
    std::string_view words;
  };

  constexpr double kAny = std::numeric_limits<double>::max();
  constexpr double kAboveZero = std::numeric_limits<double>::min();
  // slurmd kills a health check after 60 s, and a killed hook reports nothing.
  constexpr double kLongestHook = 55;
  constexpr std::string_view kHookTime = "3 s to 55 s";
  const auto& sweep = rules.sweep;
  for (const auto& [key, value, least, most, words] :
       {Range{"clean_runs", static_cast<double>(rules.clean_runs), 1, kAny, "at least 1"},
        Range{"flaps", static_cast<double>(rules.flaps), 1, kAny, "at least 1"},
        Range{"prolog_budget", rules.prolog_budget.value, 3, kLongestHook, kHookTime},
        Range{"epilog_budget", rules.epilog_budget.value, 3, kLongestHook, kHookTime},
        Range{"health_budget", rules.health_budget.value, 3, kLongestHook, kHookTime},
        Range{"drain_window", rules.drain_window.value, kMinute, 365 * kDay, "1 min to 365 d"},
        Range{"flap_window", rules.flap_window.value, kMinute, 365 * kDay, "1 min to 365 d"},
        Range{"tests_budget", rules.tests_budget.value, 5, 10 * kMinute, "5 s to 10 min"},
        Range{"controller_deadline", rules.controller_deadline.value, kAboveZero, kAny, "above 0"},
        Range{"tell.deadline", rules.tell.deadline.value, kAboveZero, 30,
              "above 0 and at most 30 s"},
        Range{"sweep.every", sweep.every.value, 3600, 365 * kDay, "1 h to 365 d"},
        Range{"sweep.time", sweep.time.value, kMinute, kDay, "1 min to 1 d"},
        Range{"sweep.start_within", sweep.start_within.value, kMinute, 7 * kDay, "1 min to 7 d"},
        Range{"sweep.most_jobs", static_cast<double>(sweep.most_jobs), 1, 1000, "1 to 1000"},
        Range{"sweep.most_nodes", static_cast<double>(sweep.most_nodes), 4, 4096, "4 to 4096"},
        Range{"sweep.nice", static_cast<double>(sweep.nice), 0, kLargestNice, "0 to 2147483645"}}) {
    if (value >= least && value <= most) continue;
    return {key, fmt::format("must be {}", words)};
  }
  for (const auto& [key, time] :
       {std::pair{"sweep.time", sweep.time}, std::pair{"sweep.start_within", sweep.start_within}}) {
    if (std::fmod(time.value, kMinute) != 0) return {key, "must be whole minutes, as Slurm counts"};
  }
  return {};
}

// Values that are only wrong together.
BrokenValue check_together(const Rules& rules) {
  if (rules.spread.value > rules.health_budget.value / 2) {
    return {.key = "spread", .what = "is more than half of health_budget", .is_of_several = true};
  }
  if (rules.gate_sweep != "none" && !rules.gate_new_nodes) {
    return {.key = "gate_sweep",
            .what = "has no effect without gate_new_nodes: true",
            .is_of_several = true};
  }
  return {};
}

BrokenValue check_tests(const std::string& key, std::string_view tests) {
  if (tests.empty()) return {};
  for (const auto word : split(tests, ',')) {
    const auto glob = trim(word);
    if (std::ranges::any_of(kNodeTestNames, [&](auto name) { return matches_glob(glob, name); })) {
      continue;
    }
    return {key, fmt::format("has {}; expected some of {}", in_quotes(glob),
                             fmt::join(kNodeTestNames, ", "))};
  }
  return {};
}

struct KeyAndText {
  std::string key;
  const std::string& text;
};

// An error unless the value is one of the words.
BrokenValue check_word(const KeyAndText& value, const std::vector<std::string_view>& words) {
  if (std::ranges::find(words, value.text) != words.end()) return {};
  return {value.key, fmt::format("is {}; write {}", in_quotes(value.text), or_list(words))};
}

BrokenValue check_words(const Rules& rules) {
  for (auto broken :
       {check_word({"on_trouble", rules.on_trouble}, {"pass", "fail"}),
        check_word({"memory", rules.memory}, {"extra", "comment", "none"}),
        check_word({"gate_sweep", rules.gate_sweep}, {"none", "quick", "full", "soak"}),
        check_word({"metrics.values", rules.metrics.values}, {"own", "all"})}) {
    if (!broken.key.empty()) return broken;
  }
  for (const auto& [check, word] : rules.unknown) {
    auto broken = check_word({fmt::format("unknown.{}", check), word}, {"keep", "drain"});
    if (!broken.key.empty()) return broken;
  }
  return {};
}

BrokenValue check_paths(const Rules& rules) {
  // A hook starts in slurmd's folder.
  for (const auto& [key, file] :
       {KeyAndText{"nhc_conf", rules.nhc_conf}, KeyAndText{"tell.program", rules.tell.program},
        KeyAndText{"sweep.script", rules.sweep.script},
        KeyAndText{"sweep.results", rules.sweep.results}}) {
    if (file.empty()) continue;
    // Slurm expands % in the name of an output file.
    const bool is_harmless =
        !key.starts_with("sweep.") || (file.find('%') == std::string::npos && is_plain(file));
    if (file.starts_with('/') && is_harmless) continue;
    return {key, fmt::format("is {}; write an absolute path", in_quotes(file))};
  }
  // node_exporter reads no file with another name.
  const auto& metrics = rules.metrics.file;
  if (metrics.empty() || (metrics.starts_with('/') && metrics.ends_with(".prom"))) return {};
  return {"metrics.file",
          fmt::format("is {}; write an absolute path that ends in .prom", in_quotes(metrics))};
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
    if (*percent > 100) return {std::string(key), "is more than all nodes"};
    if (nodes < 0) return {fmt::format("{}_nodes", key), "must be 0 or more"};
  }
  return {};
}

BrokenValue check_tell(const TellRules& rules) {
  if (rules.user.empty()) return {"tell.user", "is empty; write nobody, or root"};
  for (const auto& kind : rules.events) {
    if (std::ranges::find(kKinds, kind) != kKinds.end()) continue;
    return {"tell.events",
            fmt::format("has {}; expected some of {}", in_quotes(kind), fmt::join(kKinds, ", "))};
  }
  return {};
}

// "locate or node".
std::string all_kinds() {
  std::vector<std::string_view> names;
  for (const auto& kind : kSweepKinds) names.push_back(kind.name);
  return or_list(names);
}

BrokenValue check_kinds(const SweepRules& rules) {
  if (rules.kinds.empty()) {
    return {"sweep.kinds", fmt::format("is empty; write {}, or both", all_kinds())};
  }
  for (const auto& kind : rules.kinds) {
    if (find_sweep_kind(kind) == nullptr) {
      return {"sweep.kinds", fmt::format("has {}; write {}", in_quotes(kind), all_kinds())};
    }
    if (std::ranges::count(rules.kinds, kind) > 1) {
      return {"sweep.kinds", fmt::format("has {} twice", in_quotes(kind))};
    }
  }
  return {};
}

// Each option is one word, since no shell splits it.
BrokenValue check_options(std::string_view key, const std::vector<std::string>& options,
                          std::span<const std::string_view> own) {
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

BrokenValue check_names(const SweepRules& rules) {
  for (const auto& [key, value] :
       {KeyAndText{"sweep.account", rules.account}, KeyAndText{"sweep.qos", rules.qos}}) {
    if (!is_plain(value)) return {key, fmt::format("is {}", in_quotes(value))};
  }
  for (const auto& partition : rules.partitions) {
    if (partition.empty() || !is_plain(partition) || partition.find(',') != std::string::npos) {
      return {"sweep.partitions", fmt::format("has {}", in_quotes(partition))};
    }
  }
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  for (const auto& [name, value] : rules.environment) {
    if (!name.empty() && name.find_first_not_of(kLetters) == std::string::npos) continue;
    return {fmt::format("sweep.environment.{}", name), "is not a valid variable name"};
  }
  return {};
}

}  // namespace

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
  const auto& sweep = rules.sweep;
  for (auto broken :
       {check_words(rules), check_paths(rules), check_limits(rules), check_ranges(rules),
        check_tests("epilog_tests", rules.epilog_tests),
        check_tests("boot_tests", rules.boot_tests), check_tell(rules.tell), check_kinds(sweep),
        check_names(sweep), check_options("sweep.options", sweep.options, kOwnOptions),
        check_options("sweep.bench", sweep.bench, kOwnBenchOptions), check_together(rules)}) {
    if (!broken.key.empty()) return broken;
  }
  return {};
}

}  // namespace muster::slurm
