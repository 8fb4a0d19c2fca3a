// SPDX-License-Identifier: Apache-2.0
// `muster explain CHECK`: what it looks at, why, what to do, and the limits in force on this node
// with the place and the source of each.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "checks/app/command.hpp"
#include "checks/app/examine.hpp"
#include "checks/app/limits_of.hpp"
#include "checks/catalogue.hpp"
#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/report/report.hpp"

namespace muster::app {
namespace {

std::string paragraph(std::string_view text) {
  constexpr std::size_t kWidth = 78;
  std::string lines = "  ";
  std::size_t used = 2;
  for (const auto word : split_words(text)) {
    if (used > 2 && used + 1 + word.size() > kWidth) {
      lines += "\n  ";
      used = 2;
    }
    if (used > 2) {
      lines.push_back(' ');
      ++used;
    }
    lines += word;
    used += word.size();
  }
  return fmt::format("{}\n", lines);
}

std::string place_of(const Origin& origin) {
  auto place = origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file;
  if (!origin.source.empty()) place += fmt::format("; source: {}", origin.source);
  if (!origin.as_of.empty()) place += fmt::format(", as of {}", origin.as_of);
  return printable(place, 300);
}

// One value, or the first of many with their number.
std::string limit_lines(const Profile& profile, std::string_view check, const LimitKey& key) {
  constexpr std::size_t kMost = 12;
  const auto path = fmt::format("{}.{}", check, key.name);
  const auto values = values_at(profile, path);
  if (values.empty()) {
    const auto* unset = key.optional ? "not set: not judged" : "not set";
    return fmt::format("  {:<26}  {} ({})\n", key.name, unset, key.about);
  }
  std::string lines;
  std::size_t shown = 0;
  for (const auto& [at, value] : values) {
    if (shown++ == kMost) {
      lines += fmt::format(
          "  … {} more: muster profiles show {}\n", values.size() - kMost, profile.name);
      break;
    }
    const auto name = std::string_view(at).substr(check.size() + 1);
    lines += fmt::format("  {:<26}  {:<16}  {}\n",
                         printable(name, 80),
                         printable(value.value, 120),
                         place_of(value.origin));
  }
  return lines;
}

std::string policy_line(const Profile& profile, const Check& check) {
  const auto found = profile.policies.find(std::string(check.id));
  const auto policy = found == profile.policies.end() ? Policy{} : found->second;
  if (!policy.enabled) return "  It is off.\n";
  return fmt::format(
      "  A failure counts as {}, a warning as {}.\n", policy.fail_as, policy.warn_as);
}

std::string contexts_line(const Profile& profile, const Check& check) {
  std::string runs;
  std::string left_out;
  for (const auto& [name, context] : profile.contexts) {
    const auto selected = select_checks(profile, {.context = name, .only = {}, .skip = {}});
    auto& target = std::ranges::find(selected, &check) == selected.end() ? left_out : runs;
    target += fmt::format("{}{}", target.empty() ? "" : ", ", name);
  }
  return fmt::format("  Runs in: {}.{}\n",
                     runs.empty() ? "none" : runs,
                     left_out.empty() ? "" : fmt::format(" Left out in: {}.", left_out));
}

std::string explanation(const Check& check, const Choice& choice) {
  const auto& profile = choice.profile;
  std::string evidence;
  for (const auto& each : choice.evidence) {
    evidence += fmt::format("{}{}", evidence.empty() ? ": " : "; ", each);
  }
  auto text = fmt::format("{}: {}\n\n{}\nWhat to do\n{}\nUnder profile {}{}\n{}{}",
                          check.id,
                          check.title,
                          paragraph(check.why),
                          paragraph(check.fix),
                          profile.name,
                          printable(evidence, 600),
                          contexts_line(profile, check),
                          policy_line(profile, check));
  const auto keys = limit_keys(check.id);
  text += keys.empty() ? "\nIt has no limits of its own.\n" : "\nLimits\n";
  for (const auto& key : keys) text += limit_lines(profile, check.id, key);
  return text;
}

}  // namespace

int run_explain(const ExplainCommand& command, const World& world, Deadline& deadline) {
  std::vector<std::string> ids;
  const Check* wanted = nullptr;
  for (const auto* check : checks::kAll) {
    ids.emplace_back(check->id);
    if (check->id == command.check) wanted = check;
  }
  if (wanted == nullptr) {
    const auto near = nearest(command.check, ids);
    return fail(
        world,
        {.status = kExitUsage,
         .message = fmt::format("no check is called \"{}\"{} (muster list names them)",
                                printable(command.check, 80),
                                near.empty() ? "" : fmt::format("; did you mean {}?", near))});
  }
  const Errand errand{.profile = command.profile,
                      .settings = command.settings,
                      .root = command.root,
                      .state = {},
                      .context = "manual",
                      .deadline = std::nullopt,
                      .probes = [](const Profile* /*known*/) { return ProbeSet(); }};
  // Recognition asks the hardware, and nothing else is observed.
  const auto examined = examine(errand, world.variables, world.started, deadline);
  if (!examined) return fail(world, examined.error());
  return deliver(world, "", explanation(*wanted, examined->choice), kExitHealthy);
}

}  // namespace muster::app
