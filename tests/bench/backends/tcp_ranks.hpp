// SPDX-License-Identifier: Apache-2.0
// The ranks of a TCP job as threads of one test.
#pragma once

#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/backends/tcp/mesh.hpp"

namespace muster::bench::tcp {

// The exchange of addresses between threads.
class Blackboard {
 public:
  explicit Blackboard(int ranks) : texts_(static_cast<std::size_t>(ranks)), all_here_(ranks) {}

  [[nodiscard]] Exchange exchange(int rank) {
    return {.gather = [this, rank](std::string_view mine) -> Result<std::vector<std::string>> {
              texts_[static_cast<std::size_t>(rank)] = mine;
              all_here_.arrive_and_wait();
              if (rank != 0) return std::vector<std::string>{};
              return texts_;
            },
            .broadcast = [this, rank](std::string_view text) -> Result<std::string> {
              if (rank == 0) told_ = text;
              all_here_.arrive_and_wait();
              return told_;
            }};
  }

 private:
  std::vector<std::string> texts_;
  std::string told_;
  std::barrier<> all_here_;
};

// Calls `work(rank, exchange)` on a thread for each rank.
inline void run_ranks(int ranks, const std::function<void(int, const Exchange&)>& work) {
  Blackboard blackboard(ranks);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { work(rank, blackboard.exchange(rank)); });
  }
}

}  // namespace muster::bench::tcp
