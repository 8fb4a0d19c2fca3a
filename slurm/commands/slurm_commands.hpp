// SPDX-License-Identifier: Apache-2.0
// The commands about Slurm: the options of each, and the function that runs it and returns the exit
// status. `muster hook` is in hook.hpp.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/command/output.hpp"
#include "lib/command/supervise.hpp"

namespace muster::app {

struct HookCommand {
  static constexpr std::string_view kName = "hook";

  std::string context;  // prolog, epilog, periodic, boot
  std::string profile;
  std::vector<std::string> settings;
  std::string nhc_conf;  // empty: the site's
  std::string root = "/";
  std::string nvml;
  std::string state;
  bool dry_run = false;
  bool check_setup = false;  // instead of a context
  std::string tests;         // of `muster-bench node`, set by the site's rules; empty: none
  Seconds tests_budget{0};
};

struct DrainCommand {
  static constexpr std::string_view kName = "drain";

  std::vector<std::string> nodes;  // expanded
  std::string reason;
  std::string report;  // of a benchmark, instead of nodes and reason; "-": standard input
  std::string root = "/";
  std::string state;
  bool dry_run = false;
};

struct ResumeCommand {
  static constexpr std::string_view kName = "resume";

  std::vector<std::string> nodes;  // expanded
  std::string check;               // if set, accept its drains, of all nodes if none is named
  std::string root = "/";
  std::string state;
  bool dry_run = false;
};

enum class EventForm { text, json };

// Prints what was done to nodes.
struct HistoryCommand {
  static constexpr std::string_view kName = "history";

  std::vector<std::string> nodes;  // expanded; empty: all
  std::optional<Seconds> since;    // before now
  EventForm form = EventForm::text;
  std::string state;
};

// Prints all events of the history, and with `follow` new ones as they come.
struct EventsCommand {
  static constexpr std::string_view kName = "events";

  std::vector<std::string> nodes;
  std::optional<Seconds> since;
  EventForm form = EventForm::text;
  std::string state;
  bool follow = false;
};

// Prints the state of the cluster.
struct StatusCommand {
  static constexpr std::string_view kName = "status";

  std::vector<std::string> nodes;  // expanded; empty: all
  EventForm form = EventForm::text;
  std::string root = "/";
  std::string state;
};

struct HostfileCommand {
  static constexpr std::string_view kName = "hostfile";

  std::vector<std::string> nodes;  // expanded; empty: the job's
  std::string partition;           // whose nodes in service are listed
  std::string root = "/";
  std::string output;
  std::optional<int> slots;
};

// One pass of the sweep.
struct SweepCommand {
  static constexpr std::string_view kName = "sweep";

  EventForm form = EventForm::text;
  std::string root = "/";
  std::string state;
  bool dry_run = false;
  bool status = false;  // only print the standings of nodes
};

[[nodiscard]] int run_drain(const DrainCommand& command, const Caller& caller);
[[nodiscard]] int run_resume(const ResumeCommand& command, const Caller& caller);
[[nodiscard]] int run_status(const StatusCommand& command, const Caller& caller);
[[nodiscard]] int run_history(const HistoryCommand& command, const Caller& caller);
[[nodiscard]] int run_events(const EventsCommand& command, const Caller& caller);
[[nodiscard]] int run_hostfile(const HostfileCommand& command, const Caller& caller);
// The whole of a pass ends within this, however many calls Slurm leaves without an answer.
inline constexpr std::chrono::seconds kSweepBudget{300};
[[nodiscard]] int run_sweep(const SweepCommand& command, const Caller& caller, Deadline& deadline);

}  // namespace muster::app
