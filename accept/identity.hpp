// SPDX-License-Identifier: Apache-2.0
// The identity of nodes by their answers, against the order and against each other.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lib/accept/plan.hpp"
#include "lib/accept/step.hpp"

namespace muster::accept {

class Identities {
 public:
  explicit Identities(const Order& order) : order_(&order), nodes_(order.nodes.size()) {}

  // Remembers the answer of a node. In its inventory, adds a cause or a remark for everything that
  // differs from the order or is at another node too; in the stage `after`, for what was changed.
  void compare(std::size_t node, const StepAnswer& answer, Attempt& attempt);
  // The same without an attempt, for answers on record.
  void remember(std::size_t node, const StepAnswer& answer);

  // The name that a node has for itself; as ordered, if it never answered.
  [[nodiscard]] std::string host(std::size_t node) const;

 private:
  struct Known {
    std::string host;
    std::vector<Part> parts;
    ByName<std::string> stack;
  };

  void compare_with_order(std::size_t node, const StepAnswer& answer, Attempt& attempt) const;
  void compare_with_others(std::size_t node, const StepAnswer& answer, Attempt& attempt) const;
  void compare_with_inventory(std::size_t node, const StepAnswer& answer, Attempt& attempt) const;

  const Order* order_;
  std::vector<Known> nodes_;
  std::map<std::string, std::size_t> owners_;  // nodes by the serials of their parts
};

}  // namespace muster::accept
