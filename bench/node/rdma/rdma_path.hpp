// SPDX-License-Identifier: Apache-2.0
// Queue pairs of one HCA that are connected to those of another, or of the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/node/rdma/hca.hpp"
#include "bench/node/rdma/memory.hpp"

namespace muster::bench::node {

// Messages from the beginning of one memory to the beginning of the other, each to its own place.
struct Transfers {
  ibv_wr_opcode kind = IBV_WR_RDMA_WRITE;
  const RdmaMemory* local = nullptr;
  const RdmaMemory* remote = nullptr;
  std::uint64_t message = 0;  // bytes
  std::uint64_t count = 0;
};

class RdmaPath {
 public:
  // A transfer fails if nothing completes for `patience`.
  [[nodiscard]] static Result<std::unique_ptr<RdmaPath>> connect(const Hca& from, const Hca& to,
                                                                 std::chrono::nanoseconds patience);
  RdmaPath(const RdmaPath&) = delete;
  RdmaPath& operator=(const RdmaPath&) = delete;
  ~RdmaPath();

  // Moves many messages at a time. Returns the seconds from the first post to the last completion.
  // After an error the path cannot be used.
  [[nodiscard]] Result<double> move(const Transfers& transfers);

 private:
  RdmaPath(const Hca& from, const Hca& to, std::chrono::nanoseconds patience)
      : from_(from), to_(to), patience_(patience) {}

  [[nodiscard]] Result<void> set_up();
  [[nodiscard]] Result<ibv_qp*> make_pair(const Hca& hca, ibv_cq* completions) const;
  [[nodiscard]] Result<void> post(const Transfers& transfers, std::uint64_t index);
  // Returns the number of transfers that completed since the last call.
  [[nodiscard]] Result<std::uint64_t> poll();

  const Hca& from_;
  const Hca& to_;
  std::chrono::nanoseconds patience_;
  ibv_cq* completions_ = nullptr;
  ibv_cq* unused_ = nullptr;  // of the target, which posts nothing
  std::vector<ibv_qp*> local_, remote_;
  std::uint64_t depth_ = 1;
};

}  // namespace muster::bench::node
