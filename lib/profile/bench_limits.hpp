// SPDX-License-Identifier: Apache-2.0
// What a kind of node reaches under load: the limits below `bench` in a profile. `expected` is what
// healthy hardware does, below `warn_below` it is looked at, below `fail_below` it is taken out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limit.hpp"

namespace muster {

template <class Q>
struct BenchLimit {
  Limit<std::string> memory, type, algorithm;
  Limit<Bytes> size;
  Limit<Seconds> duration;
  Limit<int> nodes_at_least;
  Limit<Q> expected, warn_below, fail_below;

  template <class Self = BenchLimit>
  static constexpr auto fields() {
    return std::tuple{field("memory", &Self::memory, "gpu or host"),
                      field("type", &Self::type, "element type"),
                      field("algorithm", &Self::algorithm, "ring, tree, nvls, collnet or any"),
                      field("size", &Self::size, "message size; a limit holds for this size only"),
                      field("duration", &Self::duration, "how long it runs"),
                      field("nodes_at_least", &Self::nodes_at_least, "nodes in the job"),
                      field("expected", &Self::expected, "what healthy hardware does"),
                      field("warn_below", &Self::warn_below, "warns below"),
                      field("fail_below", &Self::fail_below, "fails below")};
  }
};

struct BenchTransport {
  Words require;

  template <class Self = BenchTransport>
  static constexpr auto fields() {
    return std::tuple{
        field("require", &Self::require, "what NCCL must use between nodes: ib, gdr, sharp")};
  }
};

struct BenchLimits {
  BenchLimit<BytesPerSecond> host_copy, peer_copy, gpu_memory, stream, node_all_reduce,
      loopback_all_reduce;
  BenchLimit<BitsPerSecond> hca_write;
  BenchLimit<Flops> gemm;
  std::vector<BenchLimit<BytesPerSecond>> job_all_reduce;
  BenchTransport transport;
  std::map<std::string, std::string> environment;

  template <class Self = BenchLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("host_copy", &Self::host_copy, "each GPU, each way"),
        field("peer_copy", &Self::peer_copy, "each ordered pair of GPUs, read"),
        field("gpu_memory", &Self::gpu_memory, "triad on GPU memory"),
        field("stream", &Self::stream, "STREAM on host memory, each kernel"),
        field("node_all_reduce", &Self::node_all_reduce, "bus bandwidth inside one node"),
        field("loopback_all_reduce",
              &Self::loopback_all_reduce,
              "bus bandwidth of one node through its HCAs"),
        field("hca_write", &Self::hca_write, "RDMA write, each HCA"),
        field("gemm", &Self::gemm, "matrix products, each GPU"),
        field("job_all_reduce", &Self::job_all_reduce, "bus bandwidth over nodes"),
        field("transport", &Self::transport, "what must not be fallen back from"),
        field("environment",
              &Self::environment,
              "variables of NCCL, UCX and Open MPI that muster-bench sets where nobody else did")};
  }
};

}  // namespace muster
