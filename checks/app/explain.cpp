// SPDX-License-Identifier: Apache-2.0
// `muster explain CHECK` prints what a check looks at, why, what to do, and its limits on this node
// with the file and source of each. `muster list` prints all checks as text, JSON or Markdown.
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "accept/accept_checks.hpp"
#include "checks/app/inspect.hpp"
#include "checks/app/limits_of.hpp"
#include "checks/catalogue.hpp"
#include "lib/profile/binder.hpp"
#include "lib/profile/yaml.hpp"
#include "lib/report/bench_checks.hpp"

namespace muster::app {
namespace {

// NOLINTNEXTLINE(misc-no-recursion): as deep as the types of a profile
void add_keys(std::string_view prefix, BoundFields block, std::vector<LimitKey>& keys) {
  for (const auto& field : block) {
    const auto name = fmt::format("{}{}", prefix, field.name);
    if (field.inside != nullptr) {
      add_keys(fmt::format("{}.", name), field.inside(), keys);
    } else {
      keys.push_back({.name = name, .about = std::string(field.about), .optional = field.optional});
    }
  }
}

constexpr std::size_t kLongestValue = 4096;

std::size_t leading_digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

}  // namespace

std::vector<LimitKey> limit_keys(std::string_view check) {
  const auto dot = check.find('.');
  const auto group = check.substr(0, dot);
  const auto name = dot == std::string_view::npos ? std::string_view() : check.substr(dot + 1);
  std::vector<LimitKey> keys;
  const auto* of_group = find_field(profile_fields(), group);
  if (of_group == nullptr || !of_group->group) return keys;
  const auto* block = find_field(of_group->inside(), name);
  if (block != nullptr && block->inside != nullptr) add_keys("", block->inside(), keys);
  return keys;
}

std::vector<std::string> contexts_of(const Profile& profile, const Check& check, bool running) {
  std::vector<std::string> names;
  for (const auto& [name, context] : profile.contexts) {
    const auto selected = select_checks(profile, {.context = name});
    if ((std::ranges::count(selected, &check) > 0) == running) names.push_back(name);
  }
  return names;
}

std::vector<std::pair<std::string, SetValue>> values_at(const Profile& profile,
                                                        std::string_view path) {
  std::vector<std::pair<std::string, SetValue>> found;
  const auto below = fmt::format("{}.", path);
  for (const auto& [at, value] : profile.values) {
    if (!path.empty() && at != path && !at.starts_with(below)) continue;
    found.emplace_back(at, value);
  }
  std::ranges::sort(found,
                    [](const auto& a, const auto& b) { return comes_before(a.first, b.first); });
  return found;
}

bool comes_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto digits = std::pair{leading_digits(a), leading_digits(b)};
    if (digits.first > 0 && digits.second > 0) {
      const auto left = a.substr(0, digits.first);
      const auto right = b.substr(0, digits.second);
      // Keys have no leading zeros, so a shorter number is smaller.
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      a.remove_prefix(left.size());
      b.remove_prefix(right.size());
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && !b.empty();
}

std::string shown_value(std::string_view value) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ./_%+-=@";
  const bool list = value.size() >= 2 && value.front() == '[' && value.back() == ']';
  const bool plain = !value.empty() && value.front() != ' ' && value.back() != ' ' &&
                     value.find_first_not_of(kPlain) == std::string_view::npos;
  auto text = printable(value, kLongestValue);
  if (list || plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string place_of(const Origin& origin) {
  return printable(at(origin.file, origin.line), kLongestValue);
}

std::string source_of(const Origin& origin) {
  const auto* separator = origin.source.empty() || origin.as_of.empty() ? "" : ", ";
  const auto date = origin.as_of.empty() ? std::string() : fmt::format("as of {}", origin.as_of);
  return printable(fmt::format("{}{}{}", origin.source, separator, date), kLongestValue);
}

namespace {

// Wraps at 80 columns.
std::string wrapped_at(std::size_t indent, std::string_view text) {
  return fmt::format("{:{}}{}\n", "", indent, wrapped(text, indent == 0 ? 2 : indent));
}

std::string paragraph(std::string_view text) { return wrapped_at(2, text); }

// A line of the limits: a value, or a note that it is not set.
struct LimitRow {
  std::string key;
  std::string value;
  std::string place;
  std::string source;
};

// The rows of one key: several for a list or map.
struct LimitGroup {
  std::vector<LimitRow> rows;
  std::string remark;  // after the rows
};

// "3" of "3.class"; empty unless it is an item of a list.
std::string_view index_of(std::string_view below) {
  const auto digits = below.find_first_not_of("0123456789");
  return digits != 0 && digits < below.size() && below[digits] == '.' ? below.substr(0, digits)
                                                                      : std::string_view();
}

// Adds a row, or appends to the row of the same item: "class fatal, xids [79]".
void add_row(const SetValue& value, std::string_view below, std::string_view key,
             std::vector<LimitRow>& rows) {
  const auto index = index_of(below);
  auto shown = shown_value(value.text);
  auto name = printable(fmt::format("{}{}{}", key, below.empty() ? "" : ".", below));
  if (!index.empty()) {
    shown = fmt::format("{} {}", printable(below.substr(index.size() + 1)), shown);
    name = fmt::format("{} {}", key, index);
    if (!rows.empty() && rows.back().key == name) {
      rows.back().value += fmt::format(", {}", shown);
      return;
    }
  }
  rows.push_back(
      {std::move(name), std::move(shown), place_of(value.origin), source_of(value.origin)});
}

// The value of a key, or its first ones and the number of the rest.
LimitGroup group_of(const Profile& profile, std::string_view check, const LimitKey& key) {
  constexpr std::size_t kMax = 12;
  const auto path = fmt::format("{}.{}", check, key.name);
  const auto values = values_at(profile, path);
  LimitGroup group;
  if (values.empty()) {
    // "; unset for the GPU's default": another limit applies if it is not set.
    const bool otherwise = key.about.find("; unset for ") != std::string::npos;
    const auto* unset = key.optional && !otherwise ? "not set: not judged" : "not set";
    group.rows.push_back({key.name, fmt::format("{} ({})", unset, key.about), "", ""});
  }
  for (const auto& value : values) {
    const auto below =
        std::string_view(value.first).substr(std::min(value.first.size(), path.size() + 1));
    add_row(value.second, below, key.name, group.rows);
  }
  if (group.rows.size() > kMax) {
    group.remark =
        fmt::format("… {} more: muster profiles show {}", group.rows.size() - kMax, profile.name);
    group.rows.resize(kMax);
  }
  return group;
}

bool shares_its_source(const LimitGroup& group) {
  return std::ranges::all_of(
      group.rows, [&](const LimitRow& row) { return row.source == group.rows.front().source; });
}

// Column widths. A long value does not widen its column.
struct Widths {
  std::size_t key = 0;
  std::size_t value = 0;
};

Widths widths_of(const std::vector<LimitGroup>& groups) {
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

// Wraps a long value at 80 columns, with its place below.
std::string line_of(const LimitRow& row, const Widths& widths, bool shared) {
  constexpr std::size_t kWidth = 80;
  const auto column = widths.key + 4;
  std::string end = row.place;
  if (!shared && !row.source.empty()) end += fmt::format("; source: {}", row.source);
  auto line = fmt::format("  {:{}}  {:{}}", row.key, widths.key, row.value, widths.value);
  if (line.size() + 2 + end.size() <= kWidth) {
    if (!end.empty()) line += fmt::format("  {}", end);
  } else {
    line = fmt::format("  {:{}}  {}", row.key, widths.key, wrapped(row.value, column));
    // Indents the place less below a long key, which leaves little room.
    const auto below = std::min<std::size_t>(column, 20);
    if (!end.empty()) line += fmt::format("\n{:{}}{}", "", below, wrapped(end, below));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  line.push_back('\n');
  return line;
}

// Prints a source once, below all consecutive groups that share it.
std::string limit_lines(const std::vector<LimitGroup>& groups) {
  const auto widths = widths_of(groups);
  std::string lines;
  std::string pending;
  const auto end_source = [&] {
    if (!pending.empty())
      lines += fmt::format("    {}\n", wrapped(fmt::format("source: {}", pending), 6));
    pending.clear();
  };
  for (const auto& group : groups) {
    const bool shared = shares_its_source(group);
    if (!shared || group.rows.front().source != pending) end_source();
    for (const auto& row : group.rows) lines += line_of(row, widths, shared);
    if (!group.remark.empty()) lines += fmt::format("  {}\n", group.remark);
    if (shared) pending = group.rows.front().source;
  }
  end_source();
  return lines;
}

// "a, b"; `none` for an empty list.
std::string listed(const std::vector<std::string>& names, std::string_view none) {
  return names.empty() ? std::string(none) : fmt::format("{}", fmt::join(names, ", "));
}

std::string when_it_runs(const Profile& profile, const Check& check) {
  const auto left_out = contexts_of(profile, check, false);
  const auto policy = policy_of(profile, check.id);
  return fmt::format(
      "  Runs in: {}.{}\n  {}\n", listed(contexts_of(profile, check, true), "none"),
      left_out.empty() ? "" : fmt::format(" Left out in: {}.", fmt::join(left_out, ", ")),
      policy.enabled ? fmt::format("A failure counts as {}, a warning as {}.",
                                   to_string(policy.fail_as), to_string(policy.warn_as))
                     : "It is off.");
}

// `about`: when the check of muster or muster-bench runs.
template <class AnyCheck>
std::string explanation(const AnyCheck& check, std::string_view about, const Choice& choice) {
  const auto& profile = choice.profile;
  const auto evidence =
      fmt::format("{}{}", choice.evidence.empty() ? "" : ": ", fmt::join(choice.evidence, "; "));
  auto text = fmt::format(
      "{}\n{}\nWhat to do\n{}\n{}{}", wrapped_at(0, fmt::format("{}: {}", check.id, check.title)),
      paragraph(check.why), paragraph(check.fix),
      wrapped_at(0, fmt::format("Under profile {}{}", profile.name, printable(evidence, 600))),
      about);
  const auto keys = limit_keys(check.id);
  text += keys.empty() ? "\nIt has no limits of its own.\n" : "\nLimits\n";
  std::vector<LimitGroup> groups;
  groups.reserve(keys.size());
  for (const auto& key : keys) groups.push_back(group_of(profile, check.id, key));
  return fmt::format("{}{}", text, limit_lines(groups));
}

// Visits the checks of `muster check`, then those of muster-bench and of `muster accept`.
template <class Visit>
void each_check(const Visit& visit) {
  for (const auto* check : checks::kAll) visit(check->id, check->title, "muster check");
  for (const auto& check : kBenchChecks) visit(check.id, check.title, "muster-bench");
  for (const auto& check : accept::kAcceptChecks) visit(check.id, check.title, "muster accept");
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

std::vector<std::string> probes_of(const Check& check) {
  std::vector<std::string> probes;
  for (std::size_t i = 0; i < kProbeNames.size(); ++i) {
    if (!(check.needs | check.looks_at).contains(static_cast<Probe>(i))) continue;
    probes.emplace_back(kProbeNames.at(i));
  }
  return probes;
}

// Escapes what Markdown would read as the end of a cell or a tag.
std::string cell(std::string_view raw) {
  std::string text;
  for (const char c : printable(raw, 1000)) {
    if (c == '|') text.push_back('\\');
    text += c == '<' ? "&lt;" : std::string(1, c);
  }
  return text;
}

// The default value, or the number of values.
std::string default_of(const Profile& profile, const std::string& path) {
  const auto values = values_at(profile, path);
  if (values.empty()) return "not set";
  if (values.size() > 1 || values.begin()->first != path)
    return fmt::format("{} values", values.size());
  const auto& value = values.begin()->second.text;
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
      "Generated by `muster list --format markdown`; do not edit. Defaults are those of the "
      "profile "
      "`generic`;\n"
      "`muster explain CHECK` prints those of a node's own profile, with their source.\n\n"
      "| id | title |\n|---|---|\n";
  for (const auto* check : checks::kAll) {
    std::string anchor(check->id);
    std::erase(anchor, '.');
    text += fmt::format("| [{}](#{}) | {} |\n", check->id, anchor, cell(check->title));
  }
  for (const auto* check : checks::kAll) text += section_of(profile, *check);
  return text;
}

}  // namespace

int run_explain(const ExplainCommand& command, const Caller& caller, Deadline& deadline) {
  const auto* const wanted = std::ranges::find(checks::kAll, command.check, &Check::id);
  const auto* const of_bench = find_bench_check(command.check);
  const auto* const of_accept =
      std::ranges::find(accept::kAcceptChecks, command.check, &BenchCheck::id);
  const bool accepts = of_accept != accept::kAcceptChecks.end();
  if (wanted == checks::kAll.end() && of_bench == nullptr && !accepts) {
    std::vector<std::string> ids;
    each_check([&](auto id, auto, auto) { ids.emplace_back(id); });
    return fail(caller, {.status = kExitUsage,
                         .message = fmt::format("unknown check \"{}\"{} (see muster list)",
                                                printable(command.check, 80),
                                                suggestion(command.check, ids))});
  }
  // Only recognising the node observes its hardware.
  const ObservationRequest request{.profile = command.profile,
                                   .settings = command.settings,
                                   .root = command.root,
                                   .probes = [](const Profile* /*known*/) { return ProbeSet(); }};
  const auto observed = observe_node(request, caller.variables, caller.started, deadline);
  if (!observed) return fail(caller, observed.error());
  const auto& choice = observed->choice;
  const auto text = accepts ? explanation(*of_accept, "  Judged by muster accept.\n", choice)
                    : of_bench != nullptr
                        ? explanation(*of_bench, "  Judged by muster-bench.\n", choice)
                        : explanation(**wanted, when_it_runs(choice.profile, **wanted), choice);
  return deliver(caller, "", text, kExitHealthy);
}

int run_list(const ListCommand& command, const Caller& caller) {
  if (command.form == ListCommand::Form::text) return deliver(caller, "", as_text(), 0);
  if (command.form == ListCommand::Form::json) return deliver(caller, "", as_json(), 0);
  // Only the shipped defaults, without a site's own.
  auto shipped = sources_of(caller.variables, "", {});
  shipped.site.clear();
  const auto profile = load_profile(shipped, "generic");
  if (!profile) return fail(caller, bad_configuration(profile.error()).value());
  return deliver(caller, "", as_markdown(*profile), 0);
}

}  // namespace muster::app
