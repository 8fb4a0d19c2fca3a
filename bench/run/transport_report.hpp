// SPDX-License-Identifier: Apache-2.0
// What the ranks' logs say about the ways their data took, and whether these are the required ones.
#pragma once

#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/nccl/transport.hpp"
#include "bench/results/outcomes.hpp"

namespace muster::bench {

struct TransportReport {
  TransportFacts facts;
  std::string algorithm;              // of the collective, where NCCL used one: RING
  std::vector<std::string> pairs;     // "NET/IB/GDRDMA: 0-7 to 8-15", a line for each way
  std::vector<std::string> warnings;  // of NCCL itself, each once
};

// `members` of all ranks, in order; `required` words are known to be ways.
[[nodiscard]] TransportReport transport_report(const std::vector<std::string>& logs,
                                               const std::vector<Member>& members,
                                               const std::vector<std::string>& required,
                                               Collective collective);

// What NCCL has warned of in this process.
[[nodiscard]] std::vector<std::string> nccl_warnings();

// "between nodes NET/IB/GDRDMA; inside P2P/CUMEM", "between nodes NET/Socket (eth0)".
[[nodiscard]] std::string summary_of(const Transport& transport,
                                     const std::vector<Member>& members);

}  // namespace muster::bench
