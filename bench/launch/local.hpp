// SPDX-License-Identifier: Apache-2.0
// One process becomes the ranks of its node: where there is no launcher, or one that starts a
// single process in each pod or node.
#pragma once

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "bench/launch/place.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Who a child is now.
struct LocalRank {
  Place place;
  Descriptor listener;  // rank 0 of a run on this node alone: open at place.rendezvous already
  std::string secret;   // drawn for a run on this node alone; else empty
};

// How the process itself is to end, once all children have ended.
struct LocalEnd {
  int status = 0;                  // the one to end with
  std::vector<std::string> notes;  // who was killed, and why, a sentence each
};

// What sigqueue(3) sends with SIGTERM to a process that must end because `rank` is gone: never 0.
[[nodiscard]] constexpr int signal_value_of(int rank) { return rank + 1; }

[[nodiscard]] constexpr int rank_of_signal(int value) { return value - 1; }

// Whether a process at this place may become so many ranks: its launcher must not have started each
// rank by itself.
[[nodiscard]] Result<void> may_become(const Place& place, int count);

struct LocalOptions {
  int count = 1;  // ranks of this process
  // How long the others may take to end by themselves once one has failed, or all were told to end;
  // then they are killed.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
  // A child that stays stopped for so long, by SIGSTOP for instance, while this process does not,
  // is killed: the others wait for it.
  std::chrono::milliseconds stopped = std::chrono::seconds(5);
};

// Returns in each of the children, and at last in the process itself, which passes SIGTERM, SIGINT
// and SIGHUP on until then; a child that waits for one that has failed is told which. No child
// outlives it, however it ends. Its status is rank 0's, or that of another rank where rank 0 has
// none of its own or succeeded. Before any thread is started.
[[nodiscard]] Result<std::variant<LocalRank, LocalEnd>> fork_local_ranks(
    const Place& place, const LocalOptions& options);

}  // namespace muster::bench
