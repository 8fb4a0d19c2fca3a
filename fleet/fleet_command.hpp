// SPDX-License-Identifier: Apache-2.0
// `muster fleet`: keeps the reports of all nodes in one file, and answers questions about them.
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
  std::string cluster;  // of the nodes to add or show; empty shows all
  bool slurm = false;
  std::optional<Seconds> since;  // how long ago; empty: everything
  Form form = Form::text;
  std::string output;
  bool go = false;                    // prune
  std::optional<Seconds> keep;        // prune
  std::string by;                     // causes
  std::string topology;               // causes by leaf switch
  std::vector<std::string> settings;  // whatif: KEY=VALUE
  bool all = false;                   // whatif: all snapshots, not the newest of each node
};

// The words that may follow `fleet`.
[[nodiscard]] std::vector<std::string> fleet_questions();

// Functions of other folders that questions need.
struct FleetTools {
  fleet::JudgeSnapshot judge;     // judges a snapshot that is added
  fleet::JudgeTwice judge_twice;  // judges it without and with --set
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

// odd: devices and software that differ from those of identical nodes.
[[nodiscard]] int run_fleet_odd(const FleetCommand& command, const Caller& caller);

// drift: devices that got worse than their peers over weeks.
[[nodiscard]] int run_fleet_drift(const FleetCommand& command, const Caller& caller);

// diff: the differences between two weeks, runs or nodes.
[[nodiscard]] int run_fleet_diff(const FleetCommand& command, const Caller& caller);

// whatif: the findings that other limits would have caused.
[[nodiscard]] int run_fleet_whatif(const FleetCommand& command, const Caller& caller,
                                   const fleet::JudgeTwice& judge);

// causes: incidents and what they cost, by check, part ...
[[nodiscard]] int run_fleet_causes(const FleetCommand& command, const Caller& caller);

}  // namespace muster::app
