// SPDX-License-Identifier: Apache-2.0
// The common parts of the fake NCCL: its communicators and their progress.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "tests/fakes/nccl/exchange.hpp"

namespace muster::fakes::gpu {

inline constexpr auto kNap = std::chrono::milliseconds(1);

struct Group {
  int depth = 0;
  Call call;                // of sends and receives
  std::vector<Call> calls;  // collectives, in their order
  bench::nccl::Communicator communicator = nullptr;
  bench::cuda::Stream stream = nullptr;
  int failed = bench::nccl::kSuccess;
};

struct Library {
  std::map<bench::nccl::Communicator, std::shared_ptr<Member>> members;
  Group group;
  std::string last_error;
};

[[nodiscard]] Library& library();
[[nodiscard]] int version();
// Null if the handle is invalid.
[[nodiscard]] std::shared_ptr<Member> find(bench::nccl::Communicator handle);
// Records the text as the last error and returns the code.
[[nodiscard]] int refuse(int code, std::string text);

// Takes a seat in the meeting. Returns "in progress" unless there is an error.
[[nodiscard]] int begin(bench::nccl::Communicator* made, int ranks, const bench::nccl::UniqueId& id,
                        int rank, bool blocking);
// Advances a call in progress.
void progress(Member& member);
[[nodiscard]] int state_of(const Member& member);
// Waits until the communicator has done its call; others may call meanwhile.
[[nodiscard]] int wait_for(bench::nccl::Communicator handle);

}  // namespace muster::fakes::gpu
