// SPDX-License-Identifier: Apache-2.0
#include "slurm/rules/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

// slurmd kills a health check after 60 s, and a killed hook reports nothing.
constexpr double kLongestHook = 55;

constexpr double kAll = 100;  // percent

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

std::string in_quotes(std::string_view word) { return fmt::format("\"{}\"", printable(word, 60)); }

std::optional<double> parse_share(std::string_view text) {
  text = trim(text);
  if (!text.ends_with('%')) return std::nullopt;
  const auto percent = parse_number(trim(text.substr(0, text.size() - 1)));
  return percent && *percent >= 0 ? std::optional(*percent) : std::nullopt;
}

std::chrono::seconds whole(Seconds seconds) {
  constexpr double kMost = 1e9;  // some thirty years: times stay in range
  return std::chrono::seconds(static_cast<std::int64_t>(std::min(seconds.value, kMost)));
}

BrokenValue check_values(const Rules& rules) {
  if (auto broken = check_words(rules); !broken.key.empty()) return broken;
  if (auto broken = check_limits(rules); !broken.key.empty()) return broken;
  constexpr std::array<std::string_view, 4> kLevels{"none", "quick", "full", "soak"};
  if (std::ranges::find(kLevels, rules.gate_sweep) == kLevels.end()) {
    return {"gate_sweep", fmt::format("must be none, quick, full or soak, not \"{}\"",
                                      printable(rules.gate_sweep, 40))};
  }
  if (rules.clean_runs < 1) return {"clean_runs", "must be at least 1"};
  if (rules.flaps < 1) return {"flaps", "must be at least 1"};

  struct Budget {
    std::string_view key;
    Seconds time;
  };

  for (const auto& [key, time] :
       {Budget{"prolog_budget", rules.prolog_budget}, Budget{"epilog_budget", rules.epilog_budget},
        Budget{"health_budget", rules.health_budget}}) {
    if (time.value >= 3 && time.value <= kLongestHook) continue;
    return {std::string(key), fmt::format("is {}; it must be 3 s to 55 s", to_string(time))};
  }
  constexpr double kLongestTests = 600;
  if (rules.tests_budget.value < 5 || rules.tests_budget.value > kLongestTests) {
    return {"tests_budget",
            fmt::format("is {}; it must be 5 s to 10 min", to_string(rules.tests_budget))};
  }
  if (rules.spread.value > rules.health_budget.value / 2) {
    return {"spread", "is more than half of health_budget"};
  }
  if (rules.controller_deadline.value <= 0) return {"controller_deadline", "must be above 0"};
  if (auto broken = check_tell(rules.tell); !broken.key.empty()) {
    broken.key = fmt::format("tell.{}", broken.key);
    return broken;
  }
  auto broken = check_sweep(rules.sweep);
  if (!broken.key.empty()) broken.key = fmt::format("sweep.{}", broken.key);
  return broken;
}

}  // namespace muster::slurm
