// SPDX-License-Identifier: Apache-2.0
// `muster list`: the catalogue, for people, for programs, and as docs/checks.md.
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "checks/app/commands.hpp"
#include "checks/app/limits_of.hpp"
#include "checks/catalogue.hpp"
#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/choice/choice.hpp"
#include "lib/command/options.hpp"
#include "lib/report/bench_checks.hpp"

namespace muster::app {
namespace {

// Those of `muster check`, then those of muster-bench.
template <class Visit>
void each_check(const Visit& visit) {
  for (const auto* check : checks::kAll) visit(check->id, check->title, "muster check");
  for (const auto& check : kBenchChecks) visit(check.id, check.title, "muster-bench");
}

std::string as_text() {
  std::size_t width = 0;
  each_check([&](auto id, auto, auto) { width = std::max(width, id.size()); });
  std::string text;
  each_check([&](auto id, auto title, auto) {
    text += fmt::format("{:{}}  {}\n", id, width, wrapped(title, width + 2));
  });
  return text;
}

std::string as_json() {
  auto list = nlohmann::ordered_json::array();
  each_check([&](auto id, auto title, auto program) {
    list.push_back({{"id", id}, {"title", title}, {"program", program}});
  });
  return fmt::format("{}\n", list.dump(2));
}

// "a, b", or `none` without any.
std::string listed(const std::vector<std::string>& names, std::string_view none) {
  return names.empty() ? std::string(none) : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> probes_of(const Check& check) {
  std::vector<std::string> probes;
  for (std::size_t i = 0; i < kProbeNames.size(); ++i) {
    if (!(check.needs | check.looks_at).contains(static_cast<Probe>(i))) continue;
    probes.emplace_back(kProbeNames.at(i));
  }
  return probes;
}

// A pipe would end the cell, and an angle bracket would begin a tag.
std::string cell(std::string_view raw) {
  std::string text;
  for (const char c : printable(raw, 1000)) {
    if (c == '|') text.push_back('\\');
    text += c == '<' ? "&lt;" : std::string(1, c);
  }
  return text;
}

// The value by default, in short: a table of many entries is counted.
std::string default_of(const Profile& profile, const std::string& path) {
  const auto values = values_at(profile, path);
  if (values.empty()) return "not set";
  if (values.size() > 1 || values.begin()->first != path)
    return fmt::format("{} values", values.size());
  const auto& value = values.begin()->second.value;
  return value.empty() ? "empty" : fmt::format("`{}`", cell(value));
}

std::string limits_table(const Profile& profile, const Check& check) {
  const auto keys = limit_keys(check.id);
  if (keys.empty()) return "No limits of its own.\n";
  std::string table = "| key | what | default |\n|---|---|---|\n";
  for (const auto& key : keys) {
    table += fmt::format("| `{}` | {} | {} |\n", key.name, cell(key.about),
                         default_of(profile, fmt::format("{}.{}", check.id, key.name)));
  }
  return table;
}

std::string policy_by_default(const Profile& profile, const Check& check) {
  const auto policy = policy_of(profile, check.id);
  if (!policy.enabled) return " Off by default.";
  if (policy.fail_as == Outcome::fail && policy.warn_as == Outcome::warn) return "";
  return fmt::format(" By default a failure counts as {}, a warning as {}.",
                     to_string(policy.fail_as), to_string(policy.warn_as));
}

std::string section_of(const Profile& profile, const Check& check) {
  const auto policy = policy_by_default(profile, check);
  return fmt::format(
      "\n## {}\n\n**{}.** {}\n\n*What to do:* {}\n\nRuns in: {}. Reads: {}.{}\n\n{}", check.id,
      check.title, check.why, check.fix, listed(contexts_of(profile, check, true), "none"),
      listed(probes_of(check), "nothing of its own"), policy, limits_table(profile, check));
}

std::string as_markdown(const Profile& profile) {
  std::string text =
      "# The checks\n\n"
      "Made by `muster list --format markdown`; do not edit. Defaults are those of the profile "
      "`generic`;\n"
      "what a node's own profile says, with its source, is told by `muster explain CHECK`.\n\n"
      "| id | what it says |\n|---|---|\n";
  for (const auto* check : checks::kAll) {
    std::string anchor(check->id);
    std::erase(anchor, '.');
    text += fmt::format("| [{}](#{}) | {} |\n", check->id, anchor, cell(check->title));
  }
  for (const auto* check : checks::kAll) text += section_of(profile, *check);
  return text;
}

}  // namespace

int run_list(const ListCommand& command, const Caller& caller) {
  if (command.form == ListCommand::Form::text) return deliver(caller, "", as_text(), 0);
  if (command.form == ListCommand::Form::json) return deliver(caller, "", as_json(), 0);
  // The shipped defaults alone: a site's choices are not everybody's.
  auto shipped = sources_of(caller.variables, "", {});
  shipped.site.clear();
  const auto profile = load_profile(shipped, "generic");
  if (!profile) return fail(caller, bad_configuration(profile.error()).value());
  return deliver(caller, "", as_markdown(*profile), 0);
}

}  // namespace muster::app
