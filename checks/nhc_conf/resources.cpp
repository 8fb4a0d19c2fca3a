// SPDX-License-Identifier: Apache-2.0
// check_ps_cpu, _mem, _physmem and _time: processes that use more than a line allows, and
// check_ps_blacklist: those that must not run. Nothing is killed or reniced.
#include <cmath>
#include <optional>

#include "checks/nhc_conf/judging.hpp"
#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/size.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

// What a process uses, and how to say it; nothing where that is not known.
using UsageOf = std::optional<double> (*)(const Snapshot&, const RunningProcess&);
using InWords = std::string (*)(double);

struct Limit {
  double value = 0;
  UsageOf usage = nullptr;
  InWords words = nullptr;
};

std::optional<double> cpu_percent(const Snapshot& /*snapshot*/, const RunningProcess& process) {
  if (!process.age_s) return std::nullopt;
  return *process.age_s > 0 ? 100 * process.cpu_s / *process.age_s : 0;
}

std::optional<double> memory_percent(const Snapshot& snapshot, const RunningProcess& process) {
  if (!snapshot.memory.ok() || !snapshot.memory->total_bytes) return std::nullopt;
  return 100 * static_cast<double>(process.resident_bytes) /
         static_cast<double>(*snapshot.memory->total_bytes);
}

std::string percent_words(double value) { return fmt::format("{:.1f}%", value); }

std::string seconds_words(double value) { return fmt::format("{:.0f} s", value); }

// "90", "90s", "3m30s" of processor time.
Result<double> parse_cpu_time(std::string_view text) {
  const auto minutes_end = text.find_first_of("mM");
  double seconds = 0;
  if (minutes_end != std::string_view::npos) {
    const auto minutes = parse_unsigned(text.substr(0, minutes_end));
    if (!minutes) return tl::unexpected(minutes.error());
    seconds = 60 * static_cast<double>(*minutes);
    text.remove_prefix(minutes_end + 1);
    if (text.empty()) return seconds;
  }
  if (text.ends_with('s') || text.ends_with('S')) text.remove_suffix(1);
  const auto rest = parse_unsigned(text);
  if (!rest) return tl::unexpected(rest.error());
  return seconds + static_cast<double>(*rest);
}

Result<Limit> cpu_limit(std::string_view word) {
  if (word.ends_with('%')) word.remove_suffix(1);
  const auto value = parse_number(word);
  if (!value) return tl::unexpected(value.error());
  return Limit{*value, cpu_percent, percent_words};
}

Result<Limit> virtual_limit(std::string_view word) {
  const auto value = parse_size(word);
  if (!value) return tl::unexpected(value.error());
  return Limit{*value,
               [](const Snapshot&, const RunningProcess& process) {
                 return std::optional(static_cast<double>(process.virtual_bytes));
               },
               size_in_words};
}

Result<Limit> resident_limit(std::string_view word) {
  const auto amount = parse_amount(word, parse_size);
  if (!amount) return tl::unexpected(amount.error());
  if (amount->percent) return Limit{amount->value, memory_percent, percent_words};
  return Limit{amount->value,
               [](const Snapshot&, const RunningProcess& process) {
                 return std::optional(static_cast<double>(process.resident_bytes));
               },
               size_in_words};
}

Result<Limit> time_limit(std::string_view word) {
  const auto value = parse_cpu_time(word);
  if (!value) return tl::unexpected(value.error());
  return Limit{
      *value,
      [](const Snapshot&, const RunningProcess& process) { return std::optional(process.cpu_s); },
      seconds_words};
}

// Who is looked for.
struct Search {
  bool system_too = false;
  bool whole_command = false;
  std::string match = "*", owner;
};

Result<bool> is_meant(const Processes& processes,
                      const RunningProcess& process,
                      const Search& search) {
  if (!search.system_too && process.user && *process.user <= kLastSystemUser) return false;
  const auto program = process.command.substr(0, process.command.find(' '));
  const auto found = matches(search.match, search.whole_command ? process.command : program);
  if (!found || !*found) return found;
  return is_owned_by(processes, process, search.owner);
}

Findings judge_usage(const Snapshot& snapshot,
                     const Arguments& arguments,
                     Result<Limit> (*limit_of)(std::string_view)) {
  const auto options = read_options(arguments, "0AKae:fklm:r:su:");
  if (!options) return {not_judged(options.error().message)};
  const auto limit = limit_of(argument(options->rest, 0));
  if (!limit) return {not_judged(limit.error().message)};
  const auto& processes = *snapshot.processes;
  if (!processes.all)
    return {checks::not_known(checks::kNode, "the list of processes", processes.all)};
  Search search{.system_too = options->has('A'), .whole_command = options->has('f')};
  if (options->has('m')) search.match = options->values('m').back();
  if (options->has('u')) search.owner = options->values('u').back();
  Findings findings;
  for (const auto& process : *processes.all) {
    const auto used = limit->usage(snapshot, process);
    if (used && std::floor(*used) < limit->value) continue;
    const auto meant = is_meant(processes, process, search);
    if (meant && !*meant) continue;
    if (!meant || !used) {
      findings.push_back(not_judged(
          fmt::format("{} is not known", meant ? "what a process uses" : meant.error().message)));
      continue;
    }
    findings.push_back({.device = std::string(checks::kNode),
                        .outcome = options->has('0') ? Outcome::warn : Outcome::fail,
                        .message = fmt::format("process {} ({}) of user {} uses {}, limit {}",
                                               process.pid,
                                               printable(process.command, 80),
                                               process.user.value_or(0),
                                               limit->words(*used),
                                               limit->words(limit->value)),
                        .observed = *used,
                        .limit = limit->value,
                        .remedy = Remedy::watch});
    // NHC stops at the first, and one is enough to say so.
    if (!options->has('a')) break;
  }
  return checks::or_pass(std::move(findings),
                         fmt::format("no process uses {} or more", limit->words(limit->value)));
}

}  // namespace

Result<bool> is_owned_by(const Processes& processes,
                         const RunningProcess& process,
                         const std::string& owner) {
  if (owner.empty()) return true;
  if (!process.user) return make_error(fmt::format("the user of {}", process.pid));
  if (const auto id = parse_unsigned(owner)) return *process.user == *id;
  if (processes.users) {
    for (const auto& [name, id] : *processes.users) {
      if (id == *process.user) return matches(owner, name);
    }
  }
  return make_error(fmt::format("the name of user {}", *process.user));
}

Findings judge_ps_cpu(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_usage(snapshot, arguments, cpu_limit);
}

Findings judge_ps_mem(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_usage(snapshot, arguments, virtual_limit);
}

Findings judge_ps_physmem(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_usage(snapshot, arguments, resident_limit);
}

Findings judge_ps_time(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_usage(snapshot, arguments, time_limit);
}

Findings judge_ps_blacklist(const Snapshot& snapshot, const Arguments& arguments) {
  const auto& processes = *snapshot.processes;
  if (!processes.all)
    return {checks::not_known(checks::kNode, "the list of processes", processes.all)};
  std::string wanted(argument(arguments, 0));
  if (const auto more = argument(arguments, 2); !more.empty()) wanted += fmt::format(" {}", more);
  const std::string owner(argument(arguments, 1));
  for (const auto& process : *processes.all) {
    if (process.command.find(wanted) == std::string::npos) continue;
    const auto owned = is_owned_by(processes, process, owner);
    if (!owned) return {not_judged(fmt::format("{} is not known", owned.error().message))};
    if (!*owned) continue;
    return {{.device = std::string(checks::kNode),
             .outcome = Outcome::fail,
             .message = fmt::format("process {} ({}) of user {} runs, and must not",
                                    process.pid,
                                    printable(process.command, 80),
                                    process.user.value_or(0)),
             .remedy = Remedy::fix_config}};
  }
  return {checks::passed(fmt::format("no {} runs", printable(wanted, 80)))};
}

}  // namespace muster::nhc
