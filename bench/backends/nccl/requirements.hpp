// SPDX-License-Identifier: Apache-2.0
// Whether a run's data used the required transports, and why not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/transport.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

enum class Requirement {
  ib,      // InfiniBand or RoCE between nodes
  gdr,     // GPUDirect RDMA between nodes
  p2p,     // GPUs of a node are peers
  nvlink,  // peers over NVLink
  mnnvl,   // NVLink between nodes
  nvls,    // reductions in the NVLink switches
  sharp,   // reductions in the InfiniBand switches
};
MUSTER_WORDS(Requirement, "ib", "gdr", "p2p", "nvlink", "mnnvl", "nvls", "sharp");
using muster::to_string;

// "ib,gdr"; also in NCCL's spelling: "NET/IB,GDRDMA".
[[nodiscard]] Result<std::vector<Requirement>> parse_requirements(std::string_view list);

struct RequirementResult {
  enum class State {
    met,
    missed,
    not_applicable,  // no two ranks on different nodes, or on one node
    unknown,         // the log, or a plugin, does not reveal it
  };
  Requirement requirement = Requirement::ib;
  State state = State::unknown;
  std::string what;   // "12 of 32 pairs of ranks on different nodes use NET/Socket"
  std::string cause;  // "NCCL sees no HCA"; empty if it is not known

  bool operator==(const RequirementResult&) const = default;
};

// One result for each requirement. `nodes` holds the node of each rank.
[[nodiscard]] std::vector<RequirementResult> check_requirements(
    const Transport& transport, const std::vector<int>& nodes,
    const std::vector<Requirement>& requirements);

}  // namespace muster::bench
