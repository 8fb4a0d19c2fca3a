// SPDX-License-Identifier: Apache-2.0
#include "slurm/rules/sweep_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {
namespace {

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

BrokenValue check_ranges(const SweepRules& rules) {
  const std::array ranges{
      Range{"every", rules.every.value, 3600, 365 * kDay, "1 h to 365 d"},
      Range{"time", rules.time.value, kMinute, kDay, "1 min to 1 d"},
      Range{"start_within", rules.start_within.value, kMinute, 7 * kDay, "1 min to 7 d"},
      Range{"most_jobs", static_cast<double>(rules.most_jobs), 1, 1000, "1 to 1000"},
      Range{"most_nodes", static_cast<double>(rules.most_nodes), 4, 4096, "4 to 4096"},
      Range{"nice", static_cast<double>(rules.nice), 0, kLargestNice, "0 to 2147483645"},
  };
  for (const auto& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return {std::string(range.key), fmt::format("must be {}", range.words)};
  }
  return {};
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

}  // namespace

BrokenValue check_sweep(const SweepRules& rules) {
  for (const auto& broken :
       {check_ranges(rules), check_kinds(rules), check_names(rules), check_paths(rules),
        check_options("options", rules.options, kOwnOptions),
        check_options("bench", rules.bench, kOwnBenchOptions)}) {
    if (!broken.key.empty()) return broken;
  }
  return {};
}

}  // namespace muster::slurm
