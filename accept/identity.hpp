// SPDX-License-Identifier: Apache-2.0
// The identity of each node, from its inventory. It must be the same after the soak.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/accept/plan.hpp"
#include "lib/accept/step.hpp"

namespace muster::accept {

class Identities {
 public:
  explicit Identities(const Order& order) : order_(&order), nodes_(order.nodes.size()) {}

  // Remembers the inventory of a node. In the stage `after`, adds a cause or a remark for each
  // change since then.
  void compare(std::size_t node, const StepAnswer& answer, Attempt& attempt);
  // Remembers an answer from the record, without judging it.
  void remember(std::size_t node, const StepAnswer& answer);

  // Returns a node's own host name, or its name in the order if it never answered.
  [[nodiscard]] std::string host(std::size_t node) const;

 private:
  struct Known {
    std::string host;
    std::vector<Part> parts;
    ByName<std::string> stack;
  };

  void compare_with_inventory(std::size_t node, const StepAnswer& answer, Attempt& attempt) const;

  const Order* order_;
  std::vector<Known> nodes_;
};

}  // namespace muster::accept
