// SPDX-License-Identifier: Apache-2.0
// The commands of muster: the options of each with their help texts, and the function that runs it
// and returns an exit status.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "accept/accept_command.hpp"
#include "fleet/fleet_command.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/command/options.hpp"
#include "lib/command/output.hpp"
#include "lib/command/supervise.hpp"
#include "lib/report/format.hpp"
#include "repair/claim_command.hpp"
#include "repair/evidence.hpp"
#include "repair/repair_command.hpp"
#include "slurm/commands/slurm_commands.hpp"

namespace muster::app {

struct CheckCommand {
  static constexpr std::string_view kName = "check";

  std::string profile;  // empty: the site's, or by hardware
  std::string context = "manual";
  std::vector<std::string> only, skip;  // globs
  std::vector<std::string> settings;    // KEY=VALUE
  std::string nhc_conf;                 // empty: the context's checks
  bool active = false;                  // run the benchmarks of its lines
  Format format = Format::text;
  bool all_values = false;             // Prometheus: also values that other exporters have
  std::string output;                  // empty: standard output
  std::vector<std::string> snapshots;  // files and directories; empty: this node
  std::string save_snapshot;
  std::string root = "/";
  bool host = false;                // observe the host of this container
  std::string nvml;                 // empty: the driver's library
  std::string state;                // empty: the default folder, on the host's own root only
  std::optional<Seconds> deadline;  // else the context's
  bool verbose = false;
  bool quiet = false;
  std::string also;  // a check to observe as well, for judge_drained() in inspect.hpp
};

struct AgentCommand {
  static constexpr std::string_view kName = "agent";

  std::string node;                 // empty: of NODE_NAME
  std::optional<Seconds> interval;  // empty: a minute
  std::string metrics;              // file; empty: none
  bool all_values = false;          // in it: also values that other exporters have
  std::vector<std::string> check;   // options for `muster check`
  std::string account;              // folder; empty: the usual one
};

struct SnapshotCommand {
  static constexpr std::string_view kName = "snapshot";

  std::string profile;
  std::string context = "manual";
  std::string output;
  std::string root = "/";
  bool host = false;
  std::string nvml;
  std::string state;
  std::optional<Seconds> deadline;
  bool describe = false;  // print the fields of a snapshot as Markdown, observe nothing
};

struct ListCommand {
  static constexpr std::string_view kName = "list";
  enum class Form { text, json, markdown };

  Form form = Form::text;
};

struct ExplainCommand {
  static constexpr std::string_view kName = "explain";

  std::string check;
  std::string profile;
  std::vector<std::string> settings;
  std::string root = "/";
};

struct ProfilesCommand {
  static constexpr std::string_view kName = "profiles";

  std::string show;                    // empty: list them
  bool changed = false;                // show only values that are not the default
  std::string export_to;               // the folder for the shipped files; empty: none
  std::string make;                    // name of the profile to make; empty: none
  std::vector<std::string> snapshots;  // to make it from; empty: this node
  std::string output;                  // for it; empty: standard output
  std::vector<std::string> settings;
  std::string root = "/";
  std::string nvml;
};

struct ValidateCommand {
  static constexpr std::string_view kName = "validate";

  std::string root = "/";
};

// --help and --version.
struct PrintCommand {
  std::string text;
};

using Invocation =
    std::variant<PrintCommand, CheckCommand, SnapshotCommand, ListCommand, ExplainCommand,
                 ProfilesCommand, ValidateCommand, HookCommand, DrainCommand, ResumeCommand,
                 StatusCommand, HistoryCommand, EventsCommand, HostfileCommand, SweepCommand,
                 AgentCommand, AcceptCommand, FleetCommand, RepairCommand, EvidenceCommand,
                 ClaimCommand>;

[[nodiscard]] int run_check(const CheckCommand& command, const Caller& caller, Deadline& deadline);
// Judges this node again and again, and keeps its conditions in Kubernetes. Returns if it cannot
// start.
[[nodiscard]] int run_agent(const AgentCommand& command, const Caller& caller);
// `muster check --snapshot`.
[[nodiscard]] int run_replay(const CheckCommand& command, const Caller& caller);
// `muster fleet`, which judges the snapshots that it imports.
[[nodiscard]] int run_fleet(const FleetCommand& command, const Caller& caller);
[[nodiscard]] int run_snapshot(const SnapshotCommand& command, const Caller& caller,
                               Deadline& deadline);
// Returns the fields of a snapshot as Markdown, for --describe.
[[nodiscard]] std::string describe_snapshot();
[[nodiscard]] int run_list(const ListCommand& command, const Caller& caller);
[[nodiscard]] int run_explain(const ExplainCommand& command, const Caller& caller,
                              Deadline& deadline);
[[nodiscard]] int run_profiles(const ProfilesCommand& command, const Caller& caller);
// `muster profiles make`.
[[nodiscard]] int run_make_profile(const ProfilesCommand& command, const Caller& caller,
                                   Deadline& deadline);
[[nodiscard]] int run_validate(const ValidateCommand& command, const Caller& caller);

// Parses the command line without the program's name. An error is bad usage; no file is opened.
[[nodiscard]] Result<Invocation> parse(std::span<const char* const> arguments);

// The options of a command.
template <class Command>
[[nodiscard]] std::span<const Option<Command>> options_of();

// All commands, in the order of the help text.
[[nodiscard]] std::vector<CommandText> command_texts();

[[nodiscard]] std::string overview_help();

// Whether the command observes the host of this container.
[[nodiscard]] bool wants_host(const Invocation& invocation);

// Ends a command that cannot begin. Returns the exit status.
[[nodiscard]] int refuse(const Invocation& invocation, const Caller& caller, const Error& error);

// Runs a command within its deadline.
[[nodiscard]] int run(const Invocation& invocation, const Caller& caller);

}  // namespace muster::app
