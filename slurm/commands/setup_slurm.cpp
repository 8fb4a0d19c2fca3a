// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/setup_slurm.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;
using slurm::Config;

std::string setting_of(const Config& config, std::string_view key) {
  const auto found = config.find(key);
  return found == config.end() ? "" : found->second;
}

// The number at the beginning of "60 sec"; nothing where there is none.
std::optional<std::uint64_t> number_of(const Config& config, std::string_view key) {
  const auto value = setting_of(config, key);
  const auto number = parse_unsigned(std::string_view(value).substr(
      0, std::min(value.find_first_not_of("0123456789"), value.size())));
  return number ? std::optional(*number) : std::nullopt;
}

bool has_word(const Config& config, std::string_view key, std::string_view wanted) {
  const auto value = setting_of(config, key);
  return std::ranges::any_of(split(value, ','),
                             [&](std::string_view word) { return trim(word) == wanted; });
}

// The user id in "slurm(64030)".
std::optional<::uid_t> user_of(const Config& config, std::string_view key) {
  const auto value = setting_of(config, key);
  const auto open = value.rfind('(');
  if (open == std::string::npos || !value.ends_with(')')) return std::nullopt;
  const auto number = parse_unsigned(value.substr(open + 1, value.size() - open - 2));
  return number ? std::optional(static_cast<::uid_t>(*number)) : std::nullopt;
}

// How can be asked who may update a node, without updating one? Slurm lets root and SlurmUser.
void check_user(const Config& config, ::uid_t user, SetupLines& lines) {
  const auto self = user_name(user);
  const auto admin = user_of(config, "SlurmUser");
  const auto daemon = user_of(config, "SlurmdUser");
  if (user != 0 && user != admin) {
    return lines.fail(
        "user", fmt::format("{} may not drain nodes: hooks run as root, or as SlurmUser ({}), "
                            "and so must this",
                            self, setting_of(config, "SlurmUser")));
  }
  if (daemon && *daemon != user) {
    return lines.warn("user",
                      fmt::format("slurmd runs hooks as {}, and this ran as {}: run it as {}",
                                  user_name(*daemon), self, user_name(*daemon)));
  }
  lines.ok("user", fmt::format("{} may drain and resume nodes", self));
}

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

// The muster that a script of the package calls; empty where it is another script.
std::string program_of(const std::string& script) {
  constexpr std::string_view kProgram = "muster=";
  for (const auto line : split_lines(script)) {
    if (line.starts_with(kProgram)) return std::string(trim(line.substr(kProgram.size())));
  }
  return "";
}

struct HookEntry {
  std::string_view key;
  std::string_view context;
  std::string_view without;  // what does not happen then
  std::string_view broken;   // what does where its file is not there
};

constexpr HookEntry kProlog{"Prolog", "prolog", "no job is held back from a sick node",
                            "Slurm drains every node that a job comes to"};
constexpr HookEntry kEpilog{"Epilog", "epilog",
                            "what a job left behind is found by a health check only",
                            "Slurm drains every node that a job ends on"};
constexpr HookEntry kHealth{"HealthCheckProgram", "periodic",
                            "nodes without jobs are not checked, and none is resumed",
                            "nodes are not checked"};

// Empty where the file can be started, and what muster it calls.
std::string fault_of(const std::string& file, bool& calls_muster) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return "is no file";
  if (::access(file.c_str(), R_OK | X_OK) != 0) return "cannot be read and executed: chmod 755";
  const auto script = Root().read(file);  // a program is too large for it
  if (!script) return "";
  calls_muster = calls_muster || script->find("muster") != std::string::npos;
  const auto program = program_of(*script);
  if (program.empty() || ::access(program.c_str(), X_OK) == 0) return "";
  return fmt::format("calls {}, which is not there", printable(program, 200));
}

void check_hook(const Config& config, const HookEntry& hook, SetupLines& lines) {
  const auto value = setting_of(config, hook.key);
  if (value.empty()) {
    return lines.warn(hook.key, fmt::format("is not set in slurm.conf: {}", hook.without));
  }
  bool calls_muster = false;
  for (const auto entry : split(value, ',')) {
    const std::string path(trim(entry));
    const auto files = files_of(path);
    if (files.empty()) {
      return lines.fail(hook.key, fmt::format("{} is not there: {}", printable(path), hook.broken));
    }
    for (const auto& file : files) {
      const auto fault = fault_of(file, calls_muster);
      if (!fault.empty()) {
        return lines.fail(hook.key, fmt::format("{} {}: {}", printable(file), fault, hook.broken));
      }
    }
  }
  if (calls_muster) return lines.ok(hook.key, printable(value));
  lines.warn(hook.key, fmt::format("{} does not name muster: it must call muster hook {}",
                                   printable(value), hook.context));
}

void check_prolog_flags(const Config& config, SetupLines& lines) {
  if (setting_of(config, "Prolog").empty()) return;
  if (has_word(config, "PrologFlags", "Alloc")) return lines.ok("PrologFlags", "Alloc");
  lines.fail("PrologFlags",
             "has no Alloc: the prologs of all nodes but the first run after the job has begun; "
             "set PrologFlags=Alloc in slurm.conf");
}

void check_health(const Config& config, const slurm::Rules& rules, SetupLines& lines) {
  if (setting_of(config, "HealthCheckProgram").empty()) return;
  if (number_of(config, "HealthCheckInterval").value_or(0) == 0) {
    return lines.fail("HealthCheckInterval",
                      "is 0, and the health check never runs: set it to 300 in slurm.conf");
  }
  const auto states = setting_of(config, "HealthCheckNodeState");
  if (!has_word(config, "HealthCheckNodeState", "ANY")) {
    return lines.fail(
        "HealthCheckNodeState",
        fmt::format("is {}: drained nodes are not checked{}; write ANY,CYCLE",
                    printable(states, 100), rules.resume ? ", and muster resumes none" : ""));
  }
  if (has_word(config, "HealthCheckNodeState", "CYCLE")) {
    return lines.ok("HealthCheckNodeState", printable(states, 100));
  }
  lines.warn("HealthCheckNodeState",
             "has no CYCLE: all nodes are checked in the same second; write ANY,CYCLE");
}

void check_timeout(const Config& config, const slurm::Rules& rules, SetupLines& lines) {
  constexpr std::uint64_t kNone = 65534;
  constexpr std::string_view kKey = "PrologEpilogTimeout";
  const auto allowed = number_of(config, kKey);
  const Seconds tests{rules.epilog_tests.empty() ? 0 : rules.tests_budget.value};
  const auto longest =
      std::max(rules.prolog_budget, Seconds{rules.epilog_budget.value + tests.value});
  if (!allowed || *allowed >= kNone) {
    return lines.warn(kKey,
                      "is not set: a prolog that the kernel will not let end holds its job for "
                      "ever; write 60");
  }
  if (static_cast<double>(*allowed) > longest.value) {
    return lines.ok(kKey, fmt::format("{} s", *allowed));
  }
  lines.fail(kKey,
             fmt::format("is {} s, and a hook may take {}: Slurm would drain the node of one that "
                         "it ends; write 60, or lower the budgets in muster.yaml",
                         *allowed, to_string(longest)));
}

void check_jobs(const Config& config, SetupLines& lines) {
  if (setting_of(config, "Prolog").empty()) return;
  if (!has_word(config, "SchedulerParameters", "nohold_on_prolog_fail")) {
    lines.warn("SchedulerParameters",
               "has no nohold_on_prolog_fail: a job that is kept from a sick node is held until an "
               "admin releases it");
  } else {
    lines.ok("SchedulerParameters", "nohold_on_prolog_fail");
  }
  if (number_of(config, "JobRequeue") == 0U) {
    lines.warn("JobRequeue",
               "is 0: a job that is kept from a sick node ends, unless it was sent with --requeue");
  }
  if (number_of(config, "JobFileAppend") == 0U) {
    lines.warn(
        "JobFileAppend",
        "is 0: what a user was told is lost from the job's output when the job starts again, "
        "unless it was sent with --open-mode=append");
  }
}

void check_patience(const Config& config, const slurm::Rules& rules, SetupLines& lines) {
  const auto patience = number_of(config, "MessageTimeout");
  if (!patience || static_cast<double>(*patience) < rules.controller_deadline.value) return;
  lines.warn("controller_deadline",
             fmt::format("is {}, and Slurm's own MessageTimeout is {} s: write more than that in "
                         "muster.yaml",
                         to_string(rules.controller_deadline), *patience));
}

}  // namespace

void check_slurm_conf(const Config& config, const slurm::Rules& rules, ::uid_t user,
                      SetupLines& lines) {
  check_user(config, user, lines);
  for (const auto& hook : {kProlog, kEpilog, kHealth}) check_hook(config, hook, lines);
  check_prolog_flags(config, lines);
  check_health(config, rules, lines);
  check_timeout(config, rules, lines);
  check_jobs(config, lines);
  check_patience(config, rules, lines);
}

}  // namespace muster::app
