// SPDX-License-Identifier: Apache-2.0
// The performance of a kind of node under load: the limits below `bench` in a profile. `expected`
// is the rate of healthy hardware and `promised` the provider's; below `warn_below` a node warns,
// below `fail_below` it fails.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

enum class BenchMemory { gpu, host };
MUSTER_WORDS(BenchMemory, "gpu", "host");

enum class BenchAlgorithm { ring, tree, nvls, collnet, any };
MUSTER_WORDS(BenchAlgorithm, "ring", "tree", "nvls", "collnet", "any");

enum class BenchOver { nvlink, infiniband };
MUSTER_WORDS(BenchOver, "nvlink", "infiniband");

template <class Q>
struct BenchLimit {
  MUSTER_DESCRIBED(BenchLimit);
  MUSTER_FIELD(Limit<BenchMemory>, memory, "gpu or host");
  MUSTER_FIELD(Limit<std::string>, type, "element type");
  MUSTER_FIELD(Limit<BenchAlgorithm>, algorithm, "ring, tree, nvls, collnet or any");
  MUSTER_FIELD(Limit<BenchOver>, over, "the network between nodes; unset for either");
  MUSTER_FIELD(Limit<Bytes>, size, "message size; a limit holds for this size only");
  MUSTER_FIELD(Limit<int>, nodes_at_least, "nodes in the job");
  MUSTER_FIELD(Limit<int>, nodes_at_most, "nodes in the job; unset for any number");
  MUSTER_FIELD(Limit<Q>, expected, "rate of healthy hardware");
  MUSTER_FIELD(Limit<Q>, promised, "rate that the provider promises, for --acceptance");
  MUSTER_FIELD(Limit<Q>, warn_below, "warns below");
  MUSTER_FIELD(Limit<Q>, fail_below, "fails below");
};

using JobLimit = BenchLimit<BytesPerSecond>;

enum class RequiredTransport { ib, gdr, sharp };
MUSTER_WORDS(RequiredTransport, "ib", "gdr", "sharp");

struct BenchTransport {
  MUSTER_DESCRIBED(BenchTransport);
  MUSTER_FIELD(std::vector<RequiredTransport>, require,
               "transports that NCCL must use between nodes: ib, gdr, sharp");
};

struct BenchLimits {
  MUSTER_DESCRIBED(BenchLimits);
  MUSTER_FIELD(BenchLimit<BytesPerSecond>, host_copy, "each GPU, each way");
  MUSTER_FIELD(BenchLimit<BytesPerSecond>, peer_copy, "each ordered pair of GPUs, read");
  MUSTER_FIELD(BenchLimit<BytesPerSecond>, gpu_memory, "triad on GPU memory");
  MUSTER_FIELD(BenchLimit<BytesPerSecond>, stream, "STREAM on host memory, each kernel");
  MUSTER_FIELD(BenchLimit<BytesPerSecond>, node_all_reduce, "bus bandwidth inside one node");
  MUSTER_FIELD(BenchLimit<BytesPerSecond>, loopback_all_reduce,
               "bus bandwidth of one node through its HCAs");
  MUSTER_FIELD(BenchLimit<BitsPerSecond>, hca_write, "RDMA write, each HCA");
  MUSTER_FIELD(BenchLimit<Flops>, gemm, "matrix products, each GPU");
  MUSTER_FIELD(std::vector<JobLimit>, job_all_reduce, "bus bandwidth over nodes");
  MUSTER_FIELD(std::vector<JobLimit>, job_all_gather, "bus bandwidth over nodes");
  MUSTER_FIELD(std::vector<JobLimit>, job_reduce_scatter, "bus bandwidth over nodes");
  MUSTER_FIELD(std::vector<JobLimit>, job_alltoall, "bus bandwidth over nodes");
  MUSTER_FIELD(BenchTransport, transport, "required transports");
  MUSTER_FIELD(
      ByName<std::string>, environment,
      "variables of NCCL, UCX and Open MPI that muster-bench sets unless they are set already");
};

}  // namespace muster
