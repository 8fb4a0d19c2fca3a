// SPDX-License-Identifier: Apache-2.0
// What a kind of node reaches under load: the limits below `bench` in a profile. `expected` is what
// healthy hardware does, below `warn_below` it is looked at, below `fail_below` it is taken out.
#pragma once

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

  static constexpr auto fields() {
    return std::tuple{
        field("memory", &BenchLimit::memory, "gpu or host"),
        field("type", &BenchLimit::type, "element type"),
        field("algorithm", &BenchLimit::algorithm, "ring, tree, nvls, collnet or any"),
        field("size", &BenchLimit::size, "message size; a limit holds for this size only"),
        field("duration", &BenchLimit::duration, "how long it runs"),
        field("nodes_at_least", &BenchLimit::nodes_at_least, "nodes in the job"),
        field("expected", &BenchLimit::expected, "what healthy hardware does"),
        field("warn_below", &BenchLimit::warn_below, "warns below"),
        field("fail_below", &BenchLimit::fail_below, "fails below")};
  }
};

struct BenchLimits {
  BenchLimit<BytesPerSecond> host_copy, peer_copy, gpu_memory, stream, node_all_reduce,
      loopback_all_reduce;
  BenchLimit<BitsPerSecond> hca_write;
  BenchLimit<Flops> gemm;
  std::vector<BenchLimit<BytesPerSecond>> job_all_reduce;

  static constexpr auto fields() {
    return std::tuple{
        field("host_copy", &BenchLimits::host_copy, "each GPU, each way"),
        field("peer_copy", &BenchLimits::peer_copy, "each ordered pair of GPUs, read"),
        field("gpu_memory", &BenchLimits::gpu_memory, "triad on GPU memory"),
        field("stream", &BenchLimits::stream, "STREAM on host memory, each kernel"),
        field("node_all_reduce", &BenchLimits::node_all_reduce, "bus bandwidth inside one node"),
        field("loopback_all_reduce",
              &BenchLimits::loopback_all_reduce,
              "bus bandwidth of one node through its HCAs"),
        field("hca_write", &BenchLimits::hca_write, "RDMA write, each HCA"),
        field("gemm", &BenchLimits::gemm, "matrix products, each GPU"),
        field("job_all_reduce", &BenchLimits::job_all_reduce, "bus bandwidth over nodes")};
  }
};

}  // namespace muster
