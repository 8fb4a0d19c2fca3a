// SPDX-License-Identifier: Apache-2.0
// Queue pairs of one HCA that are joined with those of another, or of the same.
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

class Way {
 public:
  // Where nothing completes for `patience` a transfer is given up.
  [[nodiscard]] static Result<std::unique_ptr<Way>> join(const Hca& from, const Hca& to,
                                                         std::chrono::nanoseconds patience);
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  ~Way();

  // Seconds from the first post to the last completion, many at a time. After an error the way
  // cannot be used.
  [[nodiscard]] Result<double> move(const Transfers& transfers);

 private:
  Way(const Hca& from, const Hca& to, std::chrono::nanoseconds patience)
      : from_(from), to_(to), patience_(patience) {}

  [[nodiscard]] Result<void> set_up();
  [[nodiscard]] Result<ibv_qp*> make_pair(const Hca& hca, ibv_cq* completions) const;
  [[nodiscard]] Result<void> post(const Transfers& transfers, std::uint64_t index);
  // How many have completed since.
  [[nodiscard]] Result<std::uint64_t> poll();

  const Hca& from_;
  const Hca& to_;
  std::chrono::nanoseconds patience_;
  ibv_cq* completions_ = nullptr;
  ibv_cq* unused_ = nullptr;  // of the other side, which posts nothing
  std::vector<ibv_qp*> here_, there_;
  std::uint64_t depth_ = 1;
};

}  // namespace muster::bench::node
