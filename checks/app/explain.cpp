// SPDX-License-Identifier: Apache-2.0
// `muster explain CHECK`: what it looks at, why, what to do, and the limits in force on this node
// with the place and the source of each.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "checks/app/commands.hpp"
#include "checks/app/limits_of.hpp"
#include "checks/app/observe_node.hpp"
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

// One line of the limits: a value, or a remark where there is none.
struct Row {
  std::string key;
  std::string value;
  std::string place;
  std::string source;
};

// What is said of one key: a row, or those of a list or map.
struct Group {
  std::vector<Row> rows;
  std::string remark;  // behind the rows
};

// One value, or the first of many with their number.
Group group_of(const Profile& profile, std::string_view check, const LimitKey& key) {
  constexpr std::size_t kMost = 12;
  const auto values = values_at(profile, fmt::format("{}.{}", check, key.name));
  Group group;
  if (values.empty()) {
    // What is judged by something else then says so: "; else the GPU's own default".
    const bool otherwise = key.about.find("; else ") != std::string::npos;
    const auto* unset = key.optional && !otherwise ? "not set: not judged" : "not set";
    group.rows.push_back({key.name, fmt::format("{} ({})", unset, key.about), "", ""});
  }
  for (const auto& [at, value] : values) {
    if (group.rows.size() == kMost) {
      group.remark =
          fmt::format("… {} more: muster profiles show {}", values.size() - kMost, profile.name);
      break;
    }
    group.rows.push_back({printable(std::string_view(at).substr(check.size() + 1)),
                          shown_value(value.value),
                          place_of(value.origin),
                          source_of(value.origin)});
  }
  return group;
}

bool shares_its_source(const Group& group) {
  return std::ranges::all_of(
      group.rows, [&](const Row& row) { return row.source == group.rows.front().source; });
}

// Columns as wide as what is in them; a long value pushes only its own place aside.
struct Widths {
  std::size_t key = 0;
  std::size_t value = 0;
};

Widths widths_of(const std::vector<Group>& groups) {
  constexpr std::size_t kWidestValue = 32;
  Widths widths;
  for (const auto& group : groups) {
    for (const auto& row : group.rows) {
      widths.key = std::max(widths.key, row.key.size());
      if (row.value.size() <= kWidestValue && !row.place.empty())
        widths.value = std::max(widths.value, row.value.size());
    }
  }
  return widths;
}

std::string line_of(const Row& row, const Widths& widths, bool shared) {
  std::string line = fmt::format("  {:{}}  {:{}}", row.key, widths.key, row.value, widths.value);
  if (!row.place.empty()) line += fmt::format("  {}", row.place);
  if (!shared && !row.source.empty()) line += fmt::format("; source: {}", row.source);
  line.erase(line.find_last_not_of(' ') + 1);
  line.push_back('\n');
  return line;
}

// A source that all rows share, also with the groups around, stands once below them.
std::string limit_lines(const std::vector<Group>& groups) {
  const auto widths = widths_of(groups);
  std::string lines;
  std::string pending;
  const auto say_source = [&] {
    if (!pending.empty()) lines += fmt::format("    source: {}\n", pending);
    pending.clear();
  };
  for (const auto& group : groups) {
    const bool shared = shares_its_source(group);
    if (!shared || group.rows.front().source != pending) say_source();
    for (const auto& row : group.rows) lines += line_of(row, widths, shared);
    if (!group.remark.empty()) lines += fmt::format("  {}\n", group.remark);
    if (shared) pending = group.rows.front().source;
  }
  say_source();
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
  std::vector<Group> groups;
  groups.reserve(keys.size());
  for (const auto& key : keys) groups.push_back(group_of(profile, check.id, key));
  return fmt::format("{}{}", text, limit_lines(groups));
}

}  // namespace

int run_explain(const ExplainCommand& command, const Caller& caller, Deadline& deadline) {
  std::vector<std::string> ids;
  const Check* wanted = nullptr;
  for (const auto* check : checks::kAll) {
    ids.emplace_back(check->id);
    if (check->id == command.check) wanted = check;
  }
  if (wanted == nullptr) {
    const auto near = nearest(command.check, ids);
    return fail(
        caller,
        {.status = kExitUsage,
         .message = fmt::format("no check is called \"{}\"{} (muster list names them)",
                                printable(command.check, 80),
                                near.empty() ? "" : fmt::format("; did you mean {}?", near))});
  }
  const ObservationRequest request{.profile = command.profile,
                                   .settings = command.settings,
                                   .root = command.root,
                                   .nvml = {},
                                   .state = {},
                                   .context = "manual",
                                   .deadline = std::nullopt,
                                   .probes = [](const Profile* /*known*/) { return ProbeSet(); }};
  // Recognition asks the hardware, and nothing else is observed.
  const auto observed = observe_node(request, caller.variables, caller.started, deadline);
  if (!observed) return fail(caller, observed.error());
  return deliver(caller, "", explanation(*wanted, observed->choice), kExitHealthy);
}

}  // namespace muster::app
