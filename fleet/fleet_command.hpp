// SPDX-License-Identifier: Apache-2.0
// `muster fleet`: a year of reports of all nodes in one file, and questions about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/document.hpp"
#include "fleet/slurm_record.hpp"
#include "fleet/whatif.hpp"
#include "lib/base/quantity.hpp"
#include "lib/command/output.hpp"

namespace muster::app {

struct FleetCommand {
  static constexpr std::string_view kName = "fleet";
  enum class Form { text, json, html };

  std::string question;            // add, show, part ...; empty: show
  std::vector<std::string> words;  // after it
  std::string store = "/var/lib/muster/fleet.db";
  std::string cluster;  // of the nodes that are added; of those that are shown, empty: all
  bool slurm = false;
  std::optional<Seconds> since;  // ago; empty: all
  Form form = Form::text;
  std::string output;
  bool go = false;                    // prune
  std::optional<Seconds> keep;        // likewise
  std::string by;                     // of causes
  std::string topology;               // for causes by leaf switch
  std::vector<std::string> settings;  // of whatif: KEY=VALUE
  bool all = false;                   // whatif: all snapshots, not the newest of each node
};

// The words that may follow `fleet`.
[[nodiscard]] std::vector<std::string> fleet_questions();

// What questions need of other rooms.
struct FleetTools {
  fleet::JudgeSnapshot judge;     // one that is added
  fleet::JudgeTwice judge_twice;  // without and with --set
  fleet::CallSlurm call_slurm;
};

[[nodiscard]] int run_fleet(const FleetCommand& command, const Caller& caller,
                            const FleetTools& tools);

// The words after `fleet`, one function each, which returns an exit status.

// add PATH... | --slurm
[[nodiscard]] int run_fleet_add(const FleetCommand& command, const Caller& caller,
                                const FleetTools& tools);

// show
[[nodiscard]] int run_fleet_show(const FleetCommand& command, const Caller& caller);
// part SERIAL|NODE
[[nodiscard]] int run_fleet_part(const FleetCommand& command, const Caller& caller);
// export sql|jsonl
[[nodiscard]] int run_fleet_export(const FleetCommand& command, const Caller& caller);
// prune
[[nodiscard]] int run_fleet_prune(const FleetCommand& command, const Caller& caller);

// Devices and software that differ from those of equal nodes.
[[nodiscard]] int run_fleet_odd(const FleetCommand& command, const Caller& caller);

// Devices that got worse than their peers over weeks.
[[nodiscard]] int run_fleet_drift(const FleetCommand& command, const Caller& caller);

// The differences of two weeks, runs or nodes.
[[nodiscard]] int run_fleet_diff(const FleetCommand& command, const Caller& caller);

// What other limits would have found.
[[nodiscard]] int run_fleet_whatif(const FleetCommand& command, const Caller& caller,
                                   const fleet::JudgeTwice& judge);

// Incidents and what they cost, by check, part ...
[[nodiscard]] int run_fleet_causes(const FleetCommand& command, const Caller& caller);

}  // namespace muster::app
