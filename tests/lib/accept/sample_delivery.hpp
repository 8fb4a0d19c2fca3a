// SPDX-License-Identifier: Apache-2.0
// Made-up deliveries for tests of the document and the page.
#pragma once

#include <functional>

#include "lib/accept/delivery.hpp"

namespace muster::accept {

// Runs next() to its end. Of every 64 nodes one has a slow GPU, one gets XIDs under load, one is
// busy, one never answers, and the others are good, two of them with remarks.
struct SampleDelivery {
  explicit SampleDelivery(std::size_t nodes);

  // Changes an answer before it is judged.
  std::function<void(StepAnswer&)> edit = [](StepAnswer&) {};
  Order order;
  std::int64_t hours = 24;  // of the soak

  Delivery make(std::int64_t until = 9'000'000'000);

  Results results;
  Actions actions;
  std::vector<NodeFacts> facts;
  GroupFacts group;
};

// The complete one of 64 nodes.
[[nodiscard]] const Delivery& delivery_of_64();

}  // namespace muster::accept
