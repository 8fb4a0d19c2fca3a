// SPDX-License-Identifier: Apache-2.0
// The nodes as Slurm shows them, from fields of sinfo that are the same in every version.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::slurm {

// Wall time in seconds, as Slurm and the history store it.
using Time = std::chrono::sys_seconds;

// The meaning of a state for draining and resuming.
enum class Standing {
  in_service,  // jobs run or can run: idle, mixed, allocated, completing, planned …
  asleep,      // the same, but powered down to save power: Slurm powers it up for a job
  drained,     // drained or draining, powered down or not
  down,        // down, fail, failing, not responding …
  // reserved for maintenance, rebooting or about to, powering up or down, unknown, or a new word
  unavailable,
};

struct NodeState {
  std::string name;
  std::vector<std::string> partitions;
  std::string state;          // as sinfo writes it, with its suffix: "drained*"; or with flags,
                              // as scontrol does: "IDLE+CLOUD+DRAIN+POWERED_DOWN"
  std::string reason;         // empty for none
  std::string user;           // who gave the reason; empty if unknown
  std::optional<Time> since;  // when
  std::string memory = {};    // the text of the field with muster's memory: see NodeMemory

  bool operator==(const NodeState&) const = default;
};

// Returns null if it is not among them.
[[nodiscard]] const NodeState* find_node(const std::vector<NodeState>& nodes,
                                         std::string_view name);

[[nodiscard]] Standing standing_of(const NodeState& node);

// The same, but ignoring power saving, reboots and missing responses: "idle%" and "mixed#" are in
// service, and "drained#" is drained.
[[nodiscard]] Standing standing_apart_from_power(const NodeState& node);

// Where the node is between being powered down and powered up again.
enum class Power { on, turning_off, off, turning_on };

[[nodiscard]] Power power_of(const NodeState& node);

// Returns "mixed" for "mixed#", the state of a node whose slurmd runs but has not registered yet.
[[nodiscard]] std::string without_powering_up(std::string_view state);

// Whether the node is reserved for maintenance, drained or not.
[[nodiscard]] bool is_in_maintenance(const NodeState& node);

// Whether the node is in service or drained, and not down, powered down, or on the way up or down.
// A node that has just stopped answering is up until Slurm marks it down.
[[nodiscard]] bool is_up(const NodeState& node);

// The format for `sinfo -h -N -O`, with SLURM_TIME_FORMAT=%s in its environment, so that times are
// numbers. `nonce` follows each field, so that no reason can be mistaken for the fields of another
// node. `memory_field` is Extra or Comment; empty for none.
[[nodiscard]] std::string sinfo_format(std::string_view memory_field, std::string_view nonce);

// Parses its whole output. The lines of a node in several partitions become one node.
[[nodiscard]] Result<std::vector<NodeState>> parse_sinfo(std::string_view text,
                                                         std::string_view nonce);

// Parses seconds since 1970; nothing beyond the year 9999.
[[nodiscard]] std::optional<Time> parse_time(std::string_view text);

inline constexpr std::string_view kNamesFormat = "%N|%n";

struct NodeName {
  std::string node, host;

  bool operator==(const NodeName&) const = default;
};

// The output of `sinfo -h -N -o kNamesFormat`, each node once.
[[nodiscard]] Result<std::vector<NodeName>> parse_names(std::string_view text);

// The node on `host`, which may be given with its domain or without. Never another host's node,
// whatever its name. An error if there is none, or more than one.
[[nodiscard]] Result<std::string> node_on(const std::vector<NodeName>& names,
                                          std::string_view host);

}  // namespace muster::slurm
