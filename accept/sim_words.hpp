// SPDX-License-Identifier: Apache-2.0
// The settings that describe a simulated fleet: those of `muster-bench --sim`, and faults of nodes
// that only an acceptance can detect.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/model/cluster.hpp"
#include "lib/accept/plan.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster::accept::sim {

enum class FaultKind {
  missing_gpu,   // GPU
  row_remap,     // GPU
  busy,          // GPU
  driver,        // a different version from the other nodes
  serial,        // node: its first GPU has the same serial
  host,          // a different physical host from the one ordered
  skew,          // seconds by which the node's clock is ahead
  hot,           // GPU, under load
  tired,         // GPU, factor
  xid,           // code, hours of load
  intermittent,  // hours of load between XIDs, on average
  crash,         // hours of load
  dies,          // stage, in its first attempt
  returns,       // minutes after a loss
  silent,
  greets,
  cut,
  limit,  // factor, for all nodes
};

struct NodeFault {
  FaultKind kind = FaultKind::silent;
  double first = 0, second = 0;  // in the order of the comments above
};

struct FleetWords {
  Profile profile;
  bench::SimCluster cluster;                     // one node per ordered node
  double failures = 0;                           // of good nodes, per 1,000 days under load
  double products = 1;                           // factor of the speed of all GPUs
  std::vector<std::vector<NodeFault>> faults{};  // by index in the order

  // Returns null if the node does not have this fault.
  [[nodiscard]] const NodeFault* fault(std::size_t node, FaultKind kind) const;
  // Whether nothing is wrong with the node, apart from `failures`.
  [[nodiscard]] bool is_good(std::size_t node) const;
};

[[nodiscard]] Result<FleetWords> parse_words(const Order& order, std::string_view words);

}  // namespace muster::accept::sim
