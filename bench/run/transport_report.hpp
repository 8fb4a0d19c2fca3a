// SPDX-License-Identifier: Apache-2.0
// The transports in the ranks' NCCL logs, and whether they are the required ones.
#pragma once

#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/results/outcomes.hpp"

namespace muster::bench {

struct TransportReport {
  TransportFacts facts;
  std::string algorithm;              // RING, if NCCL used a single one for the collective
  std::vector<std::string> pairs;     // "NET/IB/GDRDMA: 0-7 to 8-15", a line for each transport
  std::vector<std::string> warnings;  // of NCCL, without repetitions
};

// `members`: of all ranks, in order. `required`: valid words of --require-transport.
[[nodiscard]] TransportReport transport_report(const std::vector<std::string>& logs,
                                               const std::vector<Member>& members,
                                               const std::vector<std::string>& required,
                                               Collective collective);

// Returns the algorithm that NCCL logged in this process, as profiles name it: "ring"; empty if it
// logged none, or several.
[[nodiscard]] std::string logged_algorithm(Collective collective);

// Returns NCCL's warnings in this process.
[[nodiscard]] std::vector<std::string> nccl_warnings();

}  // namespace muster::bench
