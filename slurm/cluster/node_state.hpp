// SPDX-License-Identifier: Apache-2.0
// What Slurm says about a node, from the fields of sinfo that have been the same in every version.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::slurm {

// Seconds of wall time, as Slurm and the history keep it.
using Time = std::chrono::sys_seconds;

// What a state means for somebody who may drain or resume.
enum class Standing {
  in_service,  // jobs run or can run: idle, mixed, allocated, completing, planned …
  drained,     // drained or draining
  down,        // down, fail, failing, not responding, powered down …
  away,        // reserved for maintenance, rebooting or about to, powering, unknown, a new word
};

struct NodeState {
  std::string name;
  std::vector<std::string> partitions;
  std::string state;          // as sinfo writes it, with its suffix: "drained*"
  std::string reason;         // empty for none
  std::string user;           // who gave the reason; empty for nobody
  std::optional<Time> since;  // when
  std::string memory = {};    // the text in the field where muster remembers; see NodeMemory

  bool operator==(const NodeState&) const = default;
};

// Null where it is not among them.
[[nodiscard]] const NodeState* find_node(const std::vector<NodeState>& nodes,
                                         std::string_view name);

[[nodiscard]] Standing standing_of(const NodeState& node);

// Whether the node is reserved for maintenance, drained or not.
[[nodiscard]] bool is_in_maintenance(const NodeState& node);

// Whether the node is in service or drained, and there: neither down nor powered down, nor on the
// way up or down. One that has just stopped answering is up until Slurm calls it down.
[[nodiscard]] bool is_up(const NodeState& node);

// The format for `sinfo -h -N -O`, with SLURM_TIME_FORMAT=%s in its environment, so that the time
// is a number. `nonce` stands behind each field, so that no reason can be taken for the fields of
// another node. `memory_field` is Extra or Comment; empty for none.
[[nodiscard]] std::string sinfo_format(std::string_view memory_field, std::string_view nonce);

// The whole output of it, a node's lines of several partitions put together. In the order of their
// first lines.
[[nodiscard]] Result<std::vector<NodeState>> parse_sinfo(std::string_view text,
                                                         std::string_view nonce);

// Seconds since 1970, as Slurm and muster write them; nothing beyond the year 9999.
[[nodiscard]] std::optional<Time> parse_time(std::string_view text);

}  // namespace muster::slurm
