// SPDX-License-Identifier: Apache-2.0
// The scenario of the fake libibverbs: HCAs with named faults, from the JSON file
// MUSTER_FAKE_VERBS. Without one there are no faults.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

namespace muster::fakes::verbs {

struct Scenario {
  int hcas = 8;                // "hcas": mlx5_ib0 …
  double gbps = 396;           // "gbps": of each
  std::map<int, double> slow;  // "slow": {"5": 198}: what it sends and what it takes
  double noise = 0;            // "noise": 0.02: a round is faster or slower by up to so much
  double latency_us = 0.02;    // "latency_us": of each transfer; small buffers show the rate
  std::set<int> down;          // "down": [3]: its port
  std::set<int> ethernet;      // "ethernet": [7]: RoCE
  std::set<int> closed;        // "closed": [1]: may not be opened
  std::set<int> locked;        // "locked": [2]: registers no memory
  std::optional<int> spoilt;   // "spoilt": 2: one bit of what it writes
  std::optional<int> skipped;  // "skipped": 2: one of its writes completes and writes nothing
  std::optional<int> dropped;  // "dropped": 2: its writes of 8 bytes write nothing
  std::optional<int> failing;  // "failing": 4: its transfers complete with an error
  std::optional<int> silent;   // "silent": 6: they never complete
  std::set<int> slow_gpus;     // "slow_gpus": [4]: half of the rate for memory of GPUs
  bool no_dma_buf = false;     // "no_dma_buf": no handle for memory of GPUs
  bool no_relaxed = false;     // "no_relaxed": nor one with relaxed ordering
  bool slow_strict = false;    // "slow_strict": half of the rate for GPUs' memory without it
  bool apart = false;          // "apart": no HCA reaches another
  bool limited = false;        // "limited": the first partition key is a limited member's
};

[[nodiscard]] const Scenario& scenario();

}  // namespace muster::fakes::verbs
