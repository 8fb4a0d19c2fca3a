// SPDX-License-Identifier: Apache-2.0
// Turns one process into the ranks of its node, if there is no launcher, or one that starts a
// single process per pod or node.
#pragma once

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "bench/launch/place.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// A child.
struct LocalRank {
  Place place;
  Descriptor listener;  // of rank 0, in a run on this node only: open at place.rendezvous
  std::string secret;   // of the job; empty for none
};

// The end of the process itself, after all children have ended.
struct LocalEnd {
  int status = 0;
  std::vector<std::string> notes;  // which ranks were killed, and why, as sentences
};

// The value of the SIGTERM that is sent to the other ranks when `rank` is gone: never 0.
[[nodiscard]] constexpr int signal_value_of(int rank) { return rank + 1; }

[[nodiscard]] constexpr int rank_of_signal(int value) { return value - 1; }

inline constexpr int kMaxLocalRanks = 1024;

// Whether a process may become this many ranks, up to kMaxLocalRanks: its launcher must not start
// each rank itself.
[[nodiscard]] Result<void> may_become(const Place& place, int count);

struct LocalOptions {
  int count = 1;  // ranks of this process
  // The job's, if it has one. Ranks on this node only get a random one otherwise.
  std::string secret = {};
  // How long the others may take to end once one has failed or a signal has come; then they are
  // killed.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
  // How long a child may be stopped, as by SIGSTOP, before it is killed. Longer than the others'
  // deadlines, after which they report it; this is for ranks that are all stopped.
  std::chrono::milliseconds stopped;
};

// Starts the ranks of a place that may_become() accepts. Returns in each child, and finally in the
// process itself, which passes SIGTERM, SIGINT and SIGHUP on, and signals a failed rank's number to
// the others. No child outlives it. Its status is rank 0's, or the worst of the others if rank 0
// succeeded or was killed. Call this before starting threads.
[[nodiscard]] Result<std::variant<LocalRank, LocalEnd>> fork_local_ranks(
    const Place& place, const LocalOptions& options);

}  // namespace muster::bench
