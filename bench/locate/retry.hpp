// SPDX-License-Identifier: Apache-2.0
// Suspects again, each with a partner that has proven good.
#pragma once

#include <vector>

#include "bench/locate/culprit.hpp"
#include "bench/locate/rounds.hpp"

namespace muster::bench::locate {

class Retry {
 public:
  // All must live longer. What is measured goes into `search`, and into the suspicion who is slow
  // and who is proven.
  Retry(const Nodes& nodes, Rounds& rounds, Search& search, Suspicion& suspicion)
      : nodes_(nodes), rounds_(rounds), search_(search), suspicion_(suspicion) {}

  // In as many rounds as partners need; then once more who was neither low nor fine, and who is
  // slow by one measurement only. Who stays unclear is said to be.
  [[nodiscard]] Result<void> run(std::vector<Suspect> suspects);

 private:
  [[nodiscard]] Result<void> measure(std::vector<Suspect> suspects);
  [[nodiscard]] Result<void> measure_some(std::vector<Suspect> suspects,
                                          std::vector<Node> partners);

  const Nodes& nodes_;
  Rounds& rounds_;
  Search& search_;
  Suspicion& suspicion_;
  std::vector<Suspect> unclear_;
  std::vector<Suspect> waiting_;  // for whom there was no partner that they had not met
};

}  // namespace muster::bench::locate
