// SPDX-License-Identifier: Apache-2.0
// What a search for the slow node asks of the cluster: the bandwidth of several groups of nodes at
// once. A job of real ranks and a model of a cluster both answer it.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::bench::locate {

using Node = std::size_t;  // its index in the list of nodes

inline constexpr int kAllDevices = -1;

// Nodes that run one all-reduce among themselves; of a single node, its own GPUs do.
struct Group {
  std::vector<Node> nodes;
  // With this index alone each node takes part: one GPU and its HCA.
  int device = kAllDevices;
  bool without_nvlink = false;  // even inside a node the data go through the HCAs

  bool operator==(const Group&) const = default;
};

struct Answer {
  std::vector<double> gbps;  // bus bandwidth of each repeat
  bool finished = true;      // within its deadline; else there are no numbers

  bool operator==(const Answer&) const = default;
};

class Measurer {
 public:
  Measurer() = default;
  Measurer(const Measurer&) = delete;
  Measurer(Measurer&&) = delete;
  Measurer& operator=(const Measurer&) = delete;
  Measurer& operator=(Measurer&&) = delete;
  virtual ~Measurer() = default;

  // Runs all groups at once, each so many times: one answer for each group, in their order. No two
  // groups share a device. An error ends the search; a group that does not finish is no error.
  [[nodiscard]] virtual Result<std::vector<Answer>> measure(const std::vector<Group>& groups,
                                                            int repeats) = 0;

  // Why a node takes part no longer: a sentence; empty where it does.
  [[nodiscard]] virtual std::string loss_of(Node /*node*/) const { return {}; }
};

}  // namespace muster::bench::locate
