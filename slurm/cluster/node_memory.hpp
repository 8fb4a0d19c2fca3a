// SPDX-License-Identifier: Apache-2.0
// What muster must know of a node's drain, kept with the node in Slurm: one line of text in its
// field Extra or Comment, which any node can read and which outlives the node's own disk.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/cluster/node_state.hpp"

namespace muster::slurm {

// A node that was found sick and stays in service: the site's limits leave no room.
struct Refusal {
  Time at{};
  std::string check, device;

  bool operator==(const Refusal&) const = default;
};

// A refusal is written anew each hour while it lasts: an older one is over.
inline constexpr std::chrono::hours kRefusalLasts{2};

struct NodeMemory {
  std::string check;         // that the node is drained for; empty where no drain of ours stands
  std::string device;        // empty for the whole node
  std::string remedy;        // as to_string(Remedy) writes it
  Time at{};                 // when the drain was sent
  std::string boot;          // the boot id it was found in; empty where unknown
  int clean = 0;             // clean runs in a row since
  std::vector<Time> drains;  // that count as flaps, newest first, this one among them
  std::vector<std::string> hardware;  // a short hash for each GPU and adapter that was there
  bool accepted = false;              // an admin said that this drain counts for no breaker
  std::string reason;  // a hash of the reason that the drain was given: an admin's is another
  std::optional<Refusal> refused;  // none where a drain stands
  std::string more;                // words of a newer muster, kept as they are

  bool operator==(const NodeMemory&) const = default;
};

// How many times of drains are kept.
inline constexpr std::size_t kMostDrains = 16;

// "muster/1 check=host.limits device=- remedy=fix_config at=1795372800 boot=… clean=0 drains=…
// hardware=…". ASCII without anything special to a shell; values have no blanks.
[[nodiscard]] std::string to_text(const NodeMemory& memory);

// Nothing where the text is not muster's: a site's own, or a newer form. A value that cannot be
// read is taken for one that is not there.
[[nodiscard]] std::optional<NodeMemory> parse_node_memory(std::string_view text);

// Whether muster may write there: the field is empty or has a text of muster's.
[[nodiscard]] bool may_remember(const NodeState& node);

// Eight digits, the same in every version and on every machine.
[[nodiscard]] std::string short_hash(std::string_view text);

// The memory's `hardware` of an identity: GPU UUIDs and HCA GUIDs with blanks between.
[[nodiscard]] std::vector<std::string> hash_hardware(std::string_view identity);

}  // namespace muster::slurm
