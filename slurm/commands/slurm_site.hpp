// SPDX-License-Identifier: Apache-2.0
// Shared by the commands about Slurm: the site's rules, Slurm's programs, the history, syslog, and
// locks between hooks.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/command/output.hpp"
#include "lib/process/startup.hpp"
#include "lib/profile/load.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/history/history.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

// The block `slurm` of muster.yaml below `root`.
[[nodiscard]] Result<slurm::Rules> read_rules(std::string_view root, const Variables& variables);

// The folder of the history: `state` if it is given, else this machine's. An error with a foreign
// root.
[[nodiscard]] Result<std::filesystem::path> state_folder(const std::string& state,
                                                         std::string_view root);
[[nodiscard]] std::filesystem::path history_file(const std::filesystem::path& folder);

// The path of a file that muster.yaml names: below the root, like muster.yaml.
[[nodiscard]] std::string below_root(std::string_view root, std::string_view file);

// The command with the site's NHC configuration, unless it names one.
[[nodiscard]] HookCommand with_site(HookCommand command, const slurm::Rules& rules);

// All of its calls end by `end`.
[[nodiscard]] Result<std::unique_ptr<slurm::Controller>> reach_slurm(const slurm::Rules& rules,
                                                                     const Variables& variables,
                                                                     Clock::time_point end);

// Runs Slurm's programs without asking slurmctld. An error: they are missing or do not run.
[[nodiscard]] Result<void> check_programs(const slurm::Rules& rules, const Variables& variables,
                                          Clock::time_point end);

// Runs sacct or sacctmgr, which are next to scontrol, and returns the output. It prints times as
// Unix times.
[[nodiscard]] Result<std::string> call_accounting(const Variables& variables,
                                                  std::string_view program,
                                                  std::vector<std::string> words);

struct Site {
  slurm::Rules rules;
  std::unique_ptr<slurm::Controller> controller;
};

// The rules below `root`, and the Slurm that they name; its calls have no common time limit.
[[nodiscard]] Attempt<Site> reach_site(std::string_view root, const Caller& caller);

struct SlurmBlock {
  slurm::Rules rules;                 // with the values of the valid keys
  std::vector<std::string> troubles;  // one line for each mistake, with file and line
};

// A file or folder that muster.yaml names.
struct NamedFile {
  std::string_view key, path;  // "slurm.tell.program"
  int access = R_OK;
  bool is_folder = false;
};

// Returns why the file cannot be used below `root`; empty if it can, or if the key names none.
[[nodiscard]] std::string file_trouble(const NamedFile& named, const SiteFile& site,
                                       std::string_view root);

// Validates the block, and checks that the files that it names exist below `root`.
[[nodiscard]] SlurmBlock validate_slurm_block(const SiteFile& site, std::string_view root);

// Sends the event to the journal, with its fields and the serial number of its device, or else to
// syslog. Refusals, stopped checks, trouble and confirmed nodes are warnings, the others notices.
void log_event(const slurm::Event& event, std::string_view serial = {});
void log_warning(const std::string& line);

// Sends one line to the syslog that listens at `socket`. Returns whether it was accepted.
bool write_syslog(const std::string& socket, int priority, std::string_view line);

// The same for systemd's journal, in its own protocol.
bool write_journal(const std::string& socket, int priority, const slurm::Event& event,
                   std::string_view serial);

struct ProcessLock {
  enum class Holder { ours, others, unknown };

  Holder holder = Holder::unknown;  // unknown: the file could not be opened or locked
  std::chrono::seconds age{};       // how long another process has held it
  Descriptor lock;                  // ours while it is open
};

// Locks `file`, which is created if needed, and does not wait. Only this process holds the lock: a
// child that hangs forever does not inherit it. It ends when this process closes any descriptor of
// the file, so lock a file again only after the first lock is gone.
[[nodiscard]] ProcessLock try_lock(const std::filesystem::path& file);

// The same, but waits for another process until `end`.
[[nodiscard]] ProcessLock wait_for_lock(const std::filesystem::path& file, Clock::time_point end);

}  // namespace muster::app
