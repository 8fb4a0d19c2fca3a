// SPDX-License-Identifier: Apache-2.0
// Everything that muster needs to know about a node's drain, kept with the node in Slurm as one
// line of JSON in its Extra or Comment field. Any machine can read it, and it outlives the node's
// disk.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/finding.hpp"
#include "slurm/cluster/node_state.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

// A node that was found sick and stays in service because the site's limits leave no room.
struct Refusal {
  Time at{};
  std::string check, device;

  bool operator==(const Refusal&) const = default;
};

// A refusal is renewed every hour while it lasts, so one older than this is over.
inline constexpr std::chrono::hours kRefusalLasts{2};

struct NodeMemory {
  std::string check;   // empty if muster has no drain in force
  std::string device;  // empty for the whole node
  Remedy remedy = Remedy::none;
  Time at{};              // when the drain was sent
  std::string boot;       // the boot id in which the fault was found; empty if unknown
  std::string last_boot;  // the boot id in which the drain was last seen; empty if it is `boot`
  int clean = 0;          // consecutive clean runs since
  bool settled = false;   // compared with other nodes' drains, and stays
  bool accepted = false;  // an admin excluded this drain from the breaker
  std::string reason;     // a hash of the reason in Slurm, to notice an admin's
  std::vector<std::string> hardware;  // a hash of each GPU and then of each adapter that was there
  int gpus = 0;                       // how many of them are GPUs
  std::string machine;                // a hash of the machine's id; see hash_machine
  std::string admin;                  // why only an admin can end the drain; empty if runs can
  std::vector<Time> drains;           // that count as flaps, newest first, this one included
  std::optional<Refusal> refused;     // only if the node is in service
  bool is_new = false;                // drained until it is accepted: see is_kept_out
  std::string drained_by;             // the admin who ran `muster drain`
  bool overruled = false;             // others replaced this drain's reason

  bool operator==(const NodeMemory&) const = default;
};

// The number of drain times that are kept.
inline constexpr std::size_t kMaxDrains = 16;

// {"muster":1,"check":"host.limits","boot":"0a1b-2c","remedy":"fix_config",…}: empty and zero
// values are left out.
[[nodiscard]] std::string to_text(const NodeMemory& memory);

// Returns nothing if muster did not write the text. A value of the wrong type is treated as
// missing.
[[nodiscard]] std::optional<NodeMemory> parse_node_memory(std::string_view text);

// Whether muster may write the field: it is empty, or muster wrote it.
[[nodiscard]] bool may_remember(const NodeState& node);

// Returns why the node's clean runs cannot be counted, so that only an admin can resume it; empty
// if they can.
[[nodiscard]] std::string why_not_remembered(const NodeState& node, const Rules& rules);

// Eight hex digits, the same in every version and on every machine.
[[nodiscard]] std::string short_hash(std::string_view text);

// The hashes for `hardware`: of GPU UUIDs and HCA GUIDs separated by blanks, GPUs first.
[[nodiscard]] std::vector<std::string> hash_hardware(std::string_view identity);
[[nodiscard]] int count_gpus(std::string_view identity);

// The hash for `machine`: of "host NAME" for the physical host below a virtual machine, or else of
// "id MACHINE-ID". Only hashes of the same kind compare.
[[nodiscard]] std::string hash_machine(std::string_view machine);

// Whether the node's name now belongs to another host: all GPUs differ; without GPUs, all adapters;
// without either, the machine. A node with one replaced part is the same host.
[[nodiscard]] bool is_other_host(const NodeMemory& drain, std::string_view identity,
                                 std::string_view machine);

// Whether Slurm dropped the reason of a drain, as it does when it powers a node up.
[[nodiscard]] bool lost_its_reason(const NodeState& node);

// The node's memory if it is about a drain with the reason that the node has now, or about one
// whose reason Slurm dropped.
[[nodiscard]] std::optional<NodeMemory> memory_of_drain(const NodeState& node);

// The drain that the node shows, from its memory or else from its reason. `check` is empty if an
// admin wrote the reason.
[[nodiscard]] NodeMemory shown_drain(const NodeState& node);

// The drain that muster may keep or resume, even if the node is now down or rebooting. Returns
// nothing if others set the reason.
[[nodiscard]] std::optional<NodeMemory> own_drain(const NodeState& node);

// Whether muster drained the node for a fault and it is still out of service: the nodes that limits
// and the status count. The reason outlasts the state, so a node that is now down or rebooting
// still counts. A node that Slurm put back into service while powering it down does not, nor one
// with an admin's own text after "muster: ".
[[nodiscard]] bool was_drained_by_us(const NodeState& node);

// Whether this is a new node that has not been accepted yet. It has no fault and counts towards no
// limit.
[[nodiscard]] bool is_kept_out(const NodeState& node);

// When the drain began, according to Slurm, or else to the node's memory.
[[nodiscard]] std::optional<Time> drained_since(const NodeState& node);

// Whether a part must be replaced or the provider must repair it, which may take weeks.
[[nodiscard]] bool needs_repair(Remedy remedy);

// The memory of the node while `drain` is in force with this reason.
[[nodiscard]] std::string memory_while(const NodeState& node, NodeMemory drain,
                                       std::string_view reason, const Rules& rules, Time now);

// The memory after the drain: only the times of the drains that count as flaps, except `without`.
// Empty if there are none.
[[nodiscard]] std::string memory_after(const NodeState& node, const Rules& rules, Time now,
                                       std::optional<Time> without = std::nullopt);

// The memory of a node that is in service although it is sick.
[[nodiscard]] std::string memory_refused(const NodeState& node, const Rules& rules, Time now,
                                         Refusal refused);

}  // namespace muster::slurm
