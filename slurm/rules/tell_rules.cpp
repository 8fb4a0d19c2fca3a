// SPDX-License-Identifier: Apache-2.0
#include "slurm/rules/tell_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/text.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {
namespace {

constexpr std::array<std::string_view, 10> kKinds = {"drained",  "refused", "resumed",  "stopped",
                                                     "accepted", "undone",  "released", "kept",
                                                     "over",     "trouble"};
constexpr double kLongestTell = 30;  // seconds

}  // namespace

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

}  // namespace muster::slurm
