// SPDX-License-Identifier: Apache-2.0
// check_ps_unauth_users and check_ps_userproc_lineage: processes of users that no job of Slurm
// started; check_ps_kswapd: the kernel's threads that free memory. Nothing is killed.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "checks/nhc_conf/judging.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kStep = "slurmstepd";

bool dies(const std::vector<std::string>& actions) {
  // The first of these words ends NHC's list of what to do.
  for (const auto& action : actions) {
    if (action == "ignore") return false;
    if (action == "die") return true;
  }
  return actions.empty();
}

class Family {
 public:
  explicit Family(const std::vector<RunningProcess>& processes) : processes_(processes) {
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
bool is_left_out(const Options& options,
                 const Processes& processes,
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
Findings judge_strangers(const Snapshot& snapshot, const Arguments& arguments, bool by_lineage) {
  const auto options = read_options(arguments, "c:u:n:p:");
  if (!options) return {not_judged(options.error().message)};
  const auto& processes = *snapshot.processes;
  if (!processes.all) {
    return {checks::not_known(checks::kNode, "the list of processes", processes.all)};
  }
  const Family family(*processes.all);
  const auto users = family.users_with_jobs();
  for (const auto& process : *processes.all) {
    if (!process.user || *process.user <= kLastSystemUser) continue;
    if (is_left_out(*options, processes, process)) continue;
    if (by_lineage ? family.is_of_a_step(process) : users.contains(*process.user)) continue;
    const auto words = fmt::format("process {} ({}) of user {} is of no step of a job",
                                   process.pid,
                                   printable(process.command, 80),
                                   *process.user);
    if (dies(options->rest)) {
      return {not_judged(fmt::format("{}; who else may be here is not observed", words))};
    }
    return {{.device = std::string(checks::kNode),
             .outcome = Outcome::warn,
             .message = words,
             .remedy = Remedy::watch}};
  }
  return {checks::passed(by_lineage ? "all processes of users are of steps of jobs"
                                    : "all users who have processes have jobs")};
}

}  // namespace

Findings judge_unauth_users(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_strangers(snapshot, arguments, false);
}

Findings judge_userproc_lineage(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_strangers(snapshot, arguments, true);
}

Findings judge_kswapd(const Snapshot& snapshot, const Arguments& arguments) {
  const auto threshold = parse_number(argument(arguments, 0));
  const auto discrepancy = parse_number(argument(arguments, 1));
  if (!threshold || !discrepancy) return {not_judged("expects seconds and a number of times")};
  const auto& processes = *snapshot.processes;
  if (!processes.all) {
    return {checks::not_known(checks::kNode, "the list of processes", processes.all)};
  }
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
  return {{.device = std::string(checks::kNode),
           .outcome = dies(actions) ? Outcome::fail : Outcome::warn,
           .message = fmt::format("{}, at most {:.0f} s wanted, or {:g} times as much on one",
                                  words,
                                  *threshold,
                                  *discrepancy),
           .remedy = Remedy::watch}};
}

}  // namespace muster::nhc
