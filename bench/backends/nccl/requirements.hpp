// SPDX-License-Identifier: Apache-2.0
// Whether the data of a run took the ways that they must take, and why not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/transport.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

enum class Way {
  ib,      // InfiniBand or RoCE between nodes
  gdr,     // GPUDirect RDMA between nodes
  p2p,     // GPUs of a node are peers
  nvlink,  // over NVLink
  mnnvl,   // NVLink between nodes
  nvls,    // reductions in the NVLink switches
  sharp,   // reductions in the InfiniBand switches
};

[[nodiscard]] std::string_view to_string(Way way);

// "ib,gdr"; also as NCCL writes them: "NET/IB,GDRDMA".
[[nodiscard]] Result<std::vector<Way>> parse_ways(std::string_view list);

struct Taken {
  enum class Answer {
    yes,
    no,
    does_not_apply,  // no data went between nodes, or none within one
    unknown,         // the log does not say, or a plugin does not
  };
  Way way = Way::ib;
  Answer answer = Answer::unknown;
  std::string what;   // "12 of 32 pairs of ranks on different nodes use NET/Socket"
  std::string cause;  // "NCCL sees no HCA"; empty where nothing is known

  bool operator==(const Taken&) const = default;
};

// One answer for each. `nodes` tells each rank's node.
[[nodiscard]] std::vector<Taken> ways_taken(const Transport& transport,
                                            const std::vector<int>& nodes,
                                            const std::vector<Way>& ways);

}  // namespace muster::bench
