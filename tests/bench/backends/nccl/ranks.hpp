// SPDX-License-Identifier: Apache-2.0
// Ranks in separate processes, with the NCCL back end on the fake libraries.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/nccl.hpp"

namespace muster::bench {

struct World {
  int ranks = 2;
  std::string scenario = "{}";  // JSON, as tests/fakes/cuda/scenario.hpp says
  std::string cuda = "cuda";    // the folder of the fake: cuda, cuda_old
  std::string nccl = "nccl";    // nccl, nccl_old
  int gpus = 8;                 // on each node, for the local ranks
  std::optional<std::chrono::nanoseconds> forming_limit = {};
  bool registered = false;
  bool bind = false;
  std::string root;  // of sysfs
  std::chrono::milliseconds patience{20000};
};

// The results of all ranks' work, or "error: …" of a back end. A rank that does not end within the
// world's patience returns "no answer within …".
[[nodiscard]] std::vector<std::string> run_ranks(const World& world,
                                                 const std::function<std::string(Backend&)>& work);

// The paths of the fakes.
[[nodiscard]] std::string fake_cuda(std::string_view folder = "cuda");
[[nodiscard]] std::string fake_nccl(std::string_view folder = "nccl");

// The result of a separate process with this scenario.
[[nodiscard]] std::string run_alone(const std::string& scenario,
                                    const std::function<std::string()>& work);

}  // namespace muster::bench
