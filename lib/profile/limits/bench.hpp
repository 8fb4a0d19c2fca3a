// SPDX-License-Identifier: Apache-2.0
// What a kind of node reaches under load: the limits below `bench` in a profile. `expected` is what
// healthy hardware does, `promised` what its provider stands for; below `warn_below` it is looked
// at, below `fail_below` it is taken out.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

inline constexpr std::array<std::string_view, 2> kMemoryWords{"gpu", "host"};

inline constexpr std::array<std::string_view, 5> kAlgorithmWords{
    "ring", "tree", "nvls", "collnet", "any"};

inline constexpr std::array<std::string_view, 2> kOverWords{"nvlink", "infiniband"};

template <class Q>
struct BenchLimit {
  Limit<std::string> memory, type, algorithm, over;
  Limit<Bytes> size;
  Limit<Seconds> duration;
  Limit<int> nodes_at_least, nodes_at_most;
  Limit<Q> expected, promised, warn_below, fail_below;

  MUSTER_FIELDS(BenchLimit,
                MUSTER_CHOICE(memory, kMemoryWords, "gpu or host"),
                MUSTER_FIELD(type, "element type"),
                MUSTER_CHOICE(algorithm, kAlgorithmWords, "ring, tree, nvls, collnet or any"),
                MUSTER_CHOICE(over, kOverWords, "what carries it between nodes; unset for either"),
                MUSTER_FIELD(size, "message size; a limit holds for this size only"),
                MUSTER_FIELD(duration, "how long it runs"),
                MUSTER_FIELD(nodes_at_least, "nodes in the job"),
                MUSTER_FIELD(nodes_at_most, "the same; unset for any number"),
                MUSTER_FIELD(expected, "what healthy hardware does"),
                MUSTER_FIELD(promised, "what the provider promises; --acceptance judges by it"),
                MUSTER_FIELD(warn_below, "warns below"),
                MUSTER_FIELD(fail_below, "fails below"));
};

inline constexpr std::array<std::string_view, 3> kTransportWords{"ib", "gdr", "sharp"};

struct BenchTransport {
  Words require;

  MUSTER_FIELDS(BenchTransport,
                MUSTER_CHOICE(require,
                              kTransportWords,
                              "what NCCL must use between nodes: ib, gdr, sharp"));
};

struct BenchLimits {
  BenchLimit<BytesPerSecond> host_copy, peer_copy, gpu_memory, stream, node_all_reduce,
      loopback_all_reduce;
  BenchLimit<BitsPerSecond> hca_write;
  BenchLimit<Flops> gemm;
  std::vector<BenchLimit<BytesPerSecond>> job_all_reduce, job_all_gather, job_reduce_scatter,
      job_alltoall;
  BenchTransport transport;
  std::map<std::string, std::string> environment;

  MUSTER_FIELDS(
      BenchLimits,
      MUSTER_FIELD(host_copy, "each GPU, each way"),
      MUSTER_FIELD(peer_copy, "each ordered pair of GPUs, read"),
      MUSTER_FIELD(gpu_memory, "triad on GPU memory"),
      MUSTER_FIELD(stream, "STREAM on host memory, each kernel"),
      MUSTER_FIELD(node_all_reduce, "bus bandwidth inside one node"),
      MUSTER_FIELD(loopback_all_reduce, "bus bandwidth of one node through its HCAs"),
      MUSTER_FIELD(hca_write, "RDMA write, each HCA"),
      MUSTER_FIELD(gemm, "matrix products, each GPU"),
      MUSTER_FIELD(job_all_reduce, "bus bandwidth over nodes"),
      MUSTER_FIELD(job_all_gather, "the same"),
      MUSTER_FIELD(job_reduce_scatter, "the same"),
      MUSTER_FIELD(job_alltoall, "the same"),
      MUSTER_FIELD(transport, "what must not be fallen back from"),
      MUSTER_FIELD(
          environment,
          "variables of NCCL, UCX and Open MPI that muster-bench sets where nobody else did"));
};

}  // namespace muster
