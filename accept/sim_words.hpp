// SPDX-License-Identifier: Apache-2.0
// The words that describe a simulated fleet: those of `muster-bench --sim`, and the faults of nodes
// that only an acceptance can see.
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
  driver,        // another version than at the other nodes
  serial,        // node: its first GPU has the same serial
  host,          // another physical host than ordered
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
  limit,  // factor, of all nodes
};

struct NodeFault {
  FaultKind kind = FaultKind::silent;
  double first = 0, second = 0;  // in the order of the comments above

  bool operator==(const NodeFault&) const = default;
};

struct FleetWords {
  Profile profile;
  bench::SimCluster cluster;                     // a node for each ordered one
  double failures = 0;                           // per 1,000 days of a good node under load
  double products = 1;                           // factor of the speed of all GPUs
  std::vector<std::vector<NodeFault>> faults{};  // by index of the order

  // Null if the node does not have it.
  [[nodiscard]] const NodeFault* fault(std::size_t node, FaultKind kind) const;
  // Whether nothing is wrong with the node, but for `failures`.
  [[nodiscard]] bool is_good(std::size_t node) const;
};

[[nodiscard]] Result<FleetWords> parse_words(const Order& order, std::string_view words);

}  // namespace muster::accept::sim
