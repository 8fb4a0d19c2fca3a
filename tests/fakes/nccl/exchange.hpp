// SPDX-License-Identifier: Apache-2.0
// A communicator of the fake NCCL, and how its operations run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/nccl/log.hpp"
#include "tests/fakes/nccl/meeting.hpp"

namespace muster::fakes::gpu {

enum class Kind { all_reduce, all_gather, reduce_scatter, broadcast, reduce, parts };

struct Member {
  Writer writer;
  Meeting* meeting = nullptr;
  bool blocking = true;
  bool joined = false;
  bool connected = false;
  bool given_up = false;
  int asks_left = 0;  // before what was begun is done
  std::deque<std::function<int()>> begun;
  int error = 0;  // asynchronous, and for good
  std::string text;
  std::uint64_t enqueued = 0;  // less those of graphs
  std::uint64_t executed = 0;
  std::set<void*> registered;  // memory
};

// The number of its ranks on a node, or on one GPU of it.
[[nodiscard]] int ranks_on(const Member& member, int host, std::optional<int> gpu = {});

// Data that a rank sends to a peer or receives from it; with peer -1, to or from all.
struct Gift {
  int peer = -1;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
};

struct Taking {
  int peer = -1;
  std::byte* to = nullptr;
  std::uint64_t bytes = 0;
};

struct Call {
  Kind kind = Kind::all_reduce;
  Request request;
  std::vector<Gift> gifts;
  std::vector<Taking> takings;
};

// The operation as work for a stream.
[[nodiscard]] Work work_of(const std::shared_ptr<Member>& member, Call call);

void fail(Member& member, int code, std::string text);

}  // namespace muster::fakes::gpu
