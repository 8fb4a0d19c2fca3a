// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/process/child.hpp"
#include "slurm/commands/check_setup.hpp"

namespace muster::app {
namespace {

using slurm::Config;

// The number at the beginning of "60 sec".
std::optional<std::uint64_t> number_of(const Config& config, const char* key) {
  const auto value = value_of(config, key);
  const auto digits = std::string_view(value).substr(0, value.find_first_not_of("0123456789"));
  const auto number = parse_unsigned(digits);
  return number ? std::optional(*number) : std::nullopt;
}

bool has_word(const Config& config, const char* key, std::string_view wanted) {
  const auto value = value_of(config, key);
  return std::ranges::any_of(split(value, ','),
                             [&](std::string_view word) { return trim(word) == wanted; });
}

// The user id in "slurm(64030)".
std::optional<::uid_t> user_id_of(const Config& config, const char* key) {
  const auto value = value_of(config, key);
  const auto open = value.rfind('(');
  if (open == std::string::npos || !value.ends_with(')')) return std::nullopt;
  const auto number = parse_unsigned(value.substr(open + 1, value.size() - open - 2));
  return number ? std::optional(static_cast<::uid_t>(*number)) : std::nullopt;
}

// Only an update would show who may update a node. Slurm allows root and SlurmUser.
void check_user(const Config& config, SetupLines& lines) {
  const auto user = ::geteuid();
  const auto name = user_name(user);
  const auto daemon = user_id_of(config, "SlurmdUser");
  if (user != 0 && user != user_id_of(config, "SlurmUser")) {
    lines.fail("user", fmt::format("{} may not drain nodes: run this as the user of the hooks, "
                                   "which is root or SlurmUser ({})",
                                   name, value_of(config, "SlurmUser")));
  } else if (daemon && *daemon != user) {
    const auto hooks = user_name(*daemon);
    lines.warn("user", fmt::format("slurmd runs hooks as {}, and this ran as {}: run it as {}",
                                   hooks, name, hooks));
  } else {
    lines.ok("user", fmt::format("{} may drain and resume nodes", name));
  }
}

struct HookEntry {
  const char* key;
  std::string_view context;
  std::string_view without;  // the effect of leaving it out
  std::string_view broken;   // the effect of a missing file
};

constexpr HookEntry kHooks[] = {
    {"Prolog", "prolog", "no job is held back from a sick node",
     "Slurm drains every node that gets a job"},
    {"Epilog", "epilog", "only a health check finds what a job left behind",
     "Slurm drains every node that a job ends on"},
    {"HealthCheckProgram", "periodic", "nodes without jobs are not checked, and none is resumed",
     "nodes are not checked"}};

// The files of one entry of slurm.conf, which may be a glob.
std::vector<std::string> files_of(const std::string& entry) {
  glob_t found = {};
  std::vector<std::string> files;
  if (::glob(entry.c_str(), 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return files;
}

// Why a file cannot be started; empty if it can.
std::string fault_of(const std::string& file, bool& calls_muster) {
  constexpr std::string_view kProgram = "muster=";  // in a script of the package
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return "is not a file";
  if (::access(file.c_str(), R_OK | X_OK) != 0) return "cannot be read and executed: chmod 755";
  const auto script = Root().read(file);
  if (!script) return "";  // a program is too large to be read
  calls_muster = calls_muster || script->find("muster") != std::string::npos;
  for (const auto line : split_lines(*script)) {
    if (!line.starts_with(kProgram)) continue;
    const std::string program(trim(line.substr(kProgram.size())));
    if (::access(program.c_str(), X_OK) == 0) break;
    return fmt::format("calls {}, which does not exist", printable(program, 200));
  }
  return "";
}

void check_hook(const Config& config, const HookEntry& hook, SetupLines& lines) {
  const auto value = value_of(config, hook.key);
  if (value.empty()) {
    return lines.warn(hook.key, fmt::format("is not set in slurm.conf: {}", hook.without));
  }
  bool calls_muster = false;
  for (const auto entry : split(value, ',')) {
    const std::string path(trim(entry));
    const auto files = files_of(path);
    if (files.empty()) {
      return lines.fail(hook.key,
                        fmt::format("{} does not exist: {}", printable(path), hook.broken));
    }
    for (const auto& file : files) {
      const auto fault = fault_of(file, calls_muster);
      if (fault.empty()) continue;
      return lines.fail(hook.key, fmt::format("{} {}: {}", printable(file), fault, hook.broken));
    }
  }
  if (calls_muster) return lines.ok(hook.key, printable(value));
  lines.warn(hook.key, fmt::format("{} does not name muster: it must call muster hook {}",
                                   printable(value), hook.context));
}

void check_health(const Config& config, const slurm::Rules& rules, SetupLines& lines) {
  constexpr const char* kStates = "HealthCheckNodeState";
  if (value_of(config, "HealthCheckProgram").empty()) return;
  if (number_of(config, "HealthCheckInterval").value_or(0) == 0) {
    lines.fail("HealthCheckInterval",
               "is 0, and the health check never runs: set it to 300 in slurm.conf");
  }
  const auto states = printable(value_of(config, kStates), 100);
  if (!has_word(config, kStates, "ANY")) {
    lines.fail(kStates, fmt::format("is {}: drained nodes are not checked{}; write ANY,CYCLE",
                                    states, rules.resume ? ", and muster resumes none" : ""));
  } else if (!has_word(config, kStates, "CYCLE")) {
    lines.warn(kStates, "lacks CYCLE: all nodes are checked in the same second; write ANY,CYCLE");
  } else {
    lines.ok(kStates, states);
  }
}

void check_timeout(const Config& config, const slurm::Rules& rules, SetupLines& lines) {
  constexpr std::uint64_t kNone = 65534;
  constexpr const char* kKey = "PrologEpilogTimeout";
  const auto allowed = number_of(config, kKey);
  const Seconds tests{rules.epilog_tests.empty() ? 0 : rules.tests_budget.value};
  const auto longest =
      std::ceil(std::max(rules.prolog_budget.value, rules.epilog_budget.value + tests.value));
  constexpr double kForReporting = 2;  // if something hangs
  const auto right = std::max(60.0, longest + kForReporting + 3);
  if (!allowed || *allowed >= kNone) {
    lines.warn(kKey, fmt::format("is not set: a prolog that hangs in the kernel holds its job "
                                 "forever; set {:.0f}",
                                 right));
  } else if (static_cast<double>(*allowed) >= longest + kForReporting) {
    lines.ok(kKey, fmt::format("{} s", *allowed));
  } else {
    lines.fail(kKey,
               fmt::format("is {} s, and a hook may take {:.0f} s and a little more if something "
                           "hangs: Slurm drains the node of a hook that it ends; set {:.0f}, "
                           "or lower the budgets in muster.yaml",
                           *allowed, longest, right));
  }
}

void check_jobs(const Config& config, SetupLines& lines) {
  if (value_of(config, "Prolog").empty()) return;
  if (!has_word(config, "PrologFlags", "Alloc")) {
    lines.fail("PrologFlags",
               "lacks Alloc: the prologs of all nodes but the first run after the job has begun; "
               "set PrologFlags=Alloc in slurm.conf");
  }
  if (!has_word(config, "SchedulerParameters", "nohold_on_prolog_fail")) {
    lines.warn("SchedulerParameters",
               "lacks nohold_on_prolog_fail: a job that is kept from a sick node is held until an "
               "admin releases it");
  }
  if (number_of(config, "JobRequeue") == 0U) {
    lines.warn("JobRequeue",
               "is 0: a job that is kept from a sick node ends, unless it was submitted with "
               "--requeue");
  }
}

bool has_member(const std::string& list, std::string_view wanted) {
  const auto names = expand_hostlist(list);
  return names && std::ranges::find(*names, wanted) != names->end();
}

// Where and how soon the node is powered down if it is idle or drained: "300 s in partition main";
// empty if it is not.
std::string suspended_by(const Config& config, const std::vector<Config>& partitions,
                         const slurm::NodeState& node) {
  const auto excepted = value_of(config, "SuspendExcNodes");
  // "c1:2" leaves any two of the nodes up.
  if (excepted.find(':') == std::string::npos && has_member(excepted, node.name)) return "";
  for (const auto& name : node.partitions) {
    if (has_word(config, "SuspendExcParts", name)) continue;
    const auto partition = std::ranges::find_if(
        partitions, [&](const Config& each) { return value_of(each, "PartitionName") == name; });
    const auto own = partition == partitions.end() ? "" : value_of(*partition, "SuspendTime");
    const bool is_global = own.empty() || own == "GLOBAL";
    const auto time =
        is_global ? number_of(config, "SuspendTime") : number_of(*partition, "SuspendTime");
    if (!time) continue;  // INFINITE or NONE
    return is_global ? fmt::format("{} s", *time)
                     : fmt::format("{} s in partition {}", *time, printable(name, 60));
  }
  return "";
}

// The number of "22.05.8" that grows with each release: 2205.
std::uint64_t release_of(const Config& config) {
  const auto version = value_of(config, "SLURM_VERSION");
  const auto parts = split(version, '.');
  if (parts.size() < 2) return 0;
  return parse_unsigned(parts[0]).value_or(0) * 100 + parse_unsigned(parts[1]).value_or(0);
}

}  // namespace

void check_power_saving(const Config& config, const std::vector<Config>& partitions,
                        const slurm::NodeState& node, SetupLines& lines) {
  if (value_of(config, "SuspendProgram").empty()) return;
  constexpr std::uint64_t k2302 = 2302;  // knows SuspendExcStates, and lists what is powered down
  const auto time = suspended_by(config, partitions, node);
  const bool stays_up = has_word(config, "SuspendExcStates", "DRAIN");
  if (time.empty() || stays_up) {
    lines.ok("SuspendTime", time.empty() ? "this node is not powered down while it is idle"
                                         : "a drained node stays up");
  } else {
    const bool has_states = release_of(config) >= k2302;
    lines.warn("SuspendTime",
               fmt::format("is {}: Slurm powers a drained node down with its fault, and muster "
                           "cannot judge it until an admin powers it up; set {} in slurm.conf",
                           time,
                           has_states ? "SuspendExcStates=DRAIN"
                                      : "SuspendTime=INFINITE for its partition, or "
                                        "SuspendExcNodes"));
  }
  if (has_word(config, "SlurmctldParameters", "idle_on_node_suspend")) {
    lines.warn(
        "SlurmctldParameters",
        "has idle_on_node_suspend: a node that is powered down while it is drained goes back "
        "into service with its fault; take it out of slurm.conf");
  }
  if (release_of(config) < k2302 && !has_word(config, "PrivateData", "cloud")) {
    lines.warn("PrivateData",
               "lacks cloud: sinfo and muster status do not list all nodes that are powered down, "
               "drained or not; set PrivateData=cloud in slurm.conf");
  }
}

void check_slurm_conf(const Config& config, const slurm::Rules& rules, SetupLines& lines) {
  check_user(config, lines);
  for (const auto& hook : kHooks) check_hook(config, hook, lines);
  check_jobs(config, lines);
  check_health(config, rules, lines);
  check_timeout(config, rules, lines);
  const auto patience = number_of(config, "MessageTimeout");
  if (patience && static_cast<double>(*patience) >= rules.controller_deadline.value) {
    lines.warn("controller_deadline",
               fmt::format("is {}, and Slurm's own MessageTimeout is {} s: set more than that in "
                           "muster.yaml",
                           to_string(rules.controller_deadline), *patience));
  }
}

}  // namespace muster::app
