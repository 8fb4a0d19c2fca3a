// SPDX-License-Identifier: Apache-2.0
// The names of the tests of `muster-bench node`, so that `muster` can check a site's lists of them.
#pragma once

#include <array>
#include <string_view>

namespace muster {

inline constexpr std::array<std::string_view, 13> kNodeTestNames{
    "host.stream", "host.latency", "host.disk",  "gpu.copy", "gpu.p2p",    "gpu.memory", "gpu.gemm",
    "gpu.truth",   "ib.loopback",  "nccl.intra", "nccl.nic", "train.step", "gpu.soak"};

}  // namespace muster
