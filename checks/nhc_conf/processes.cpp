// SPDX-License-Identifier: Apache-2.0
// check_ps_cpu, _mem, _physmem and _time: processes that use more than a line allows;
// check_ps_blacklist: those that must not run; check_ps_unauth_users and check_ps_userproc_lineage:
// those of users that no job of Slurm started; check_ps_kswapd: the kernel's threads that free
// memory. Nothing is killed or reniced.
#include "checks/nhc_conf/processes.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/options.hpp"
#include "checks/nhc_conf/size.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

Finding no_list(const Processes& processes) {
  return checks::not_known(checks::kNode, "the list of processes", processes.all);
}

std::string in_words(const RunningProcess& process) {
  return fmt::format("process {} ({}) of user {}", process.pid, printable(process.command, 80),
                     process.user.value_or(0));
}

// What a process uses, and how to say it; nothing where that is not known.
using UsageOf = std::optional<double> (*)(const Snapshot&, const RunningProcess&);
using InWords = std::string (*)(double);

struct UsageLimit {
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

std::optional<double> virtual_bytes(const Snapshot& /*snapshot*/, const RunningProcess& process) {
  return static_cast<double>(process.virtual_bytes);
}

std::optional<double> resident_bytes(const Snapshot& /*snapshot*/, const RunningProcess& process) {
  return static_cast<double>(process.resident_bytes);
}

std::optional<double> cpu_seconds(const Snapshot& /*snapshot*/, const RunningProcess& process) {
  return process.cpu_s;
}

std::string percent_words(double value) { return fmt::format("{:.1f}%", value); }

std::string seconds_words(double value) { return fmt::format("{:.0f} s", value); }

// "90", "90s", "3m30s" of processor time.
Result<double> parse_cpu_time(std::string_view text) {
  const auto minutes_end = text.find_first_of("mM");
  double seconds = 0;
  if (minutes_end != std::string_view::npos) {
    TRY_ASSIGN(const auto minutes, parse_unsigned(text.substr(0, minutes_end)));
    seconds = 60 * static_cast<double>(minutes);
    text.remove_prefix(minutes_end + 1);
    if (text.empty()) return seconds;
  }
  if (text.ends_with('s') || text.ends_with('S')) text.remove_suffix(1);
  TRY_ASSIGN(const auto rest, parse_unsigned(text));
  return seconds + static_cast<double>(rest);
}

Result<UsageLimit> limit_of(const Result<double>& value, UsageOf usage, InWords words) {
  if (!value) return tl::unexpected(value.error());
  return UsageLimit{*value, usage, words};
}

Result<UsageLimit> cpu_limit(std::string_view word) {
  if (word.ends_with('%')) word.remove_suffix(1);
  return limit_of(parse_number(word), cpu_percent, percent_words);
}

Result<UsageLimit> virtual_limit(std::string_view word) {
  return limit_of(parse_size(word), virtual_bytes, size_in_words);
}

Result<UsageLimit> resident_limit(std::string_view word) {
  TRY_ASSIGN(const auto amount, parse_amount(word, parse_size));
  if (amount.percent) return UsageLimit{amount.value, memory_percent, percent_words};
  return UsageLimit{amount.value, resident_bytes, size_in_words};
}

Result<UsageLimit> time_limit(std::string_view word) {
  return limit_of(parse_cpu_time(word), cpu_seconds, seconds_words);
}

// Who is looked for.
struct Search {
  bool system_too = false;
  bool whole_command = false;
  std::string match = "*", owner;
};

Result<bool> is_meant(const Processes& processes, const RunningProcess& process,
                      const Search& search) {
  if (!search.system_too && process.user && !checks::is_of_users(*process.user)) return false;
  const auto program = process.command.substr(0, process.command.find(' '));
  const auto found = matches(search.match, search.whole_command ? process.command : program);
  if (!found || !*found) return found;
  return is_owned_by(processes, process, search.owner);
}

template <Result<UsageLimit> (*kLimitOf)(std::string_view)>
Findings judge_usage(const Snapshot& snapshot, const Arguments& arguments) {
  const auto options = read_options(arguments, "0AKae:fklm:r:su:");
  if (!options) return {not_judged(options.error().message)};
  const auto limit = kLimitOf(argument(options->rest, 0));
  if (!limit) return {not_judged(limit.error().message)};
  const auto& processes = *snapshot.processes;
  if (!processes.all) return {no_list(processes)};
  Search search{.system_too = options->has('A'),
                .whole_command = options->has('f'),
                .owner = options->value('u')};
  if (options->has('m')) search.match = options->value('m');
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
    auto finding = failed(fmt::format("{} uses {}, limit {}", in_words(process),
                                      limit->words(*used), limit->words(limit->value)),
                          Remedy::watch);
    findings.push_back(
        softened(compared(std::move(finding), *used, limit->value), options->has('0')));
    // NHC stops at the first, and one is enough to say so.
    if (!options->has('a')) break;
  }
  return checks::or_pass(std::move(findings),
                         fmt::format("no process uses {} or more", limit->words(limit->value)));
}

Findings judge_blacklist(const Snapshot& snapshot, const Arguments& arguments) {
  const auto& processes = *snapshot.processes;
  if (!processes.all) return {no_list(processes)};
  std::string wanted(argument(arguments, 0));
  if (const auto more = argument(arguments, 2); !more.empty()) wanted += fmt::format(" {}", more);
  const std::string owner(argument(arguments, 1));
  for (const auto& process : *processes.all) {
    if (process.command.find(wanted) == std::string::npos) continue;
    const auto owned = is_owned_by(processes, process, owner);
    if (!owned) return {not_judged(fmt::format("{} is not known", owned.error().message))};
    if (*owned) return {failed(fmt::format("{} runs, and must not", in_words(process)))};
  }
  return {checks::passed(fmt::format("no {} runs", printable(wanted, 80)))};
}

constexpr std::string_view kStep = "slurmstepd";

bool dies(const std::vector<std::string>& actions) {
  // The first of these words ends NHC's list of what to do.
  for (const auto& action : actions) {
    if (action == "ignore") return false;
    if (action == "die") return true;
  }
  return actions.empty();
}

class ProcessTree {
 public:
  explicit ProcessTree(const std::vector<RunningProcess>& processes) : processes_(processes) {
    for (const auto& process : processes) by_pid_[process.pid] = &process;
  }

  // Root's own: anybody can call a program so.
  [[nodiscard]] bool is_of_a_step(const RunningProcess& process) const {
    std::set<std::uint64_t> seen;
    for (const auto* each = &process; each != nullptr && seen.insert(each->pid).second;) {
      if (each->command.find(kStep) != std::string::npos && each->user == std::uint64_t{0}) {
        return true;
      }
      const auto parent = by_pid_.find(each->parent);
      each = parent == by_pid_.end() ? nullptr : parent->second;
    }
    return false;
  }

  // Users who have a process that a job started.
  [[nodiscard]] std::set<std::uint64_t> users_with_jobs() const {
    std::set<std::uint64_t> users;
    for (const auto& process : processes_) {
      if (process.user && is_of_a_step(process)) users.insert(*process.user);
    }
    return users;
  }

 private:
  const std::vector<RunningProcess>& processes_;
  std::map<std::uint64_t, const RunningProcess*> by_pid_;
};

// With -c, -u, -n and -p NHC looks for these within what the options name.
bool is_left_out(const Options& options, const Processes& processes,
                 const RunningProcess& process) {
  const auto names = [&](char letter, const std::string& text) {
    return options.has(letter) &&
           fmt::format("{}", fmt::join(options.values(letter), " ")).find(text) !=
               std::string::npos;
  };
  const auto program = process.command.substr(0, process.command.find(' '));
  if (names('c', program) || names('p', fmt::format("{}", process.pid))) return true;
  if (!process.user) return false;
  if (names('u', fmt::format("{}", *process.user))) return true;
  if (!processes.users) return false;
  return std::ranges::any_of(*processes.users, [&](const auto& user) {
    return user.second == *process.user && names('n', user.first);
  });
}

// Who of those may be here is known to Slurm, and to NHC_AUTH_USERS: nobody is accused.
template <bool kByLineage>
Findings judge_strangers(const Snapshot& snapshot, const Arguments& arguments) {
  const auto options = read_options(arguments, "c:u:n:p:");
  if (!options) return {not_judged(options.error().message)};
  const auto& processes = *snapshot.processes;
  if (!processes.all) return {no_list(processes)};
  const ProcessTree tree(*processes.all);
  const auto users = tree.users_with_jobs();
  for (const auto& process : *processes.all) {
    if (!process.user || !checks::is_of_users(*process.user)) continue;
    if (is_left_out(*options, processes, process)) continue;
    if (kByLineage ? tree.is_of_a_step(process) : users.contains(*process.user)) continue;
    const auto words = fmt::format("{} is of no step of a job", in_words(process));
    if (dies(options->rest)) {
      return {not_judged(fmt::format("{}; who else may be here is not observed", words))};
    }
    return {softened(failed(words, Remedy::watch), true)};
  }
  return {checks::passed(kByLineage ? "all processes of users are of steps of jobs"
                                    : "all users who have processes have jobs")};
}

Findings judge_kswapd(const Snapshot& snapshot, const Arguments& arguments) {
  const auto threshold = parse_number(argument(arguments, 0));
  const auto discrepancy = parse_number(argument(arguments, 1));
  if (!threshold || !discrepancy) return {not_judged("expects seconds and a number of times")};
  const auto& processes = *snapshot.processes;
  if (!processes.all) return {no_list(processes)};
  double least = std::numeric_limits<double>::max();
  double most = 0;
  std::size_t threads = 0;
  for (const auto& process : *processes.all) {
    // A user's program cannot have a name in brackets and no arguments: it has a command line.
    if (!process.command.starts_with("[kswapd") || process.user != std::uint64_t{0}) continue;
    ++threads;
    least = std::min(least, process.cpu_s);
    most = std::max(most, process.cpu_s);
  }
  if (threads < 2) return {checks::passed("one NUMA node, or none whose memory is freed")};
  const bool uneven = most > *threshold || (least < 1 && most > *threshold / 2) ||
                      (least >= 1 && most / least > *discrepancy);
  const auto words =
      fmt::format("kswapd has used {:.0f} to {:.0f} s on {} NUMA nodes", least, most, threads);
  if (!uneven) return {checks::passed(words)};
  const Arguments actions(arguments.begin() + 2, arguments.end());
  auto finding = failed(fmt::format("{}, at most {:.0f} s wanted, or {:g} times as much on one",
                                    words, *threshold, *discrepancy),
                        Remedy::watch);
  return {softened(std::move(finding), !dies(actions))};
}

}  // namespace

Result<bool> is_owned_by(const Processes& processes, const RunningProcess& process,
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

std::vector<Row> process_rows() {
  return {
      of_processes("check_ps_blacklist", judge_blacklist, Probe::memory, 1, 3),
      of_processes("check_ps_cpu", judge_usage<cpu_limit>, Probe::memory, 1),
      of_processes("check_ps_mem", judge_usage<virtual_limit>, Probe::memory, 1),
      of_processes("check_ps_physmem", judge_usage<resident_limit>, Probe::memory, 1),
      of_processes("check_ps_time", judge_usage<time_limit>, Probe::memory, 1),
      of_processes("check_ps_kswapd", judge_kswapd, Probe::memory, 2),
      of_processes("check_ps_unauth_users", judge_strangers<false>, Probe::memory, 0),
      of_processes("check_ps_userproc_lineage", judge_strangers<true>, Probe::memory, 0),
  };
}

}  // namespace muster::nhc
