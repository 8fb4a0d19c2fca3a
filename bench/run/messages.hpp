// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other through their group, as values: who they are, what was agreed, what
// they measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/collectives/pattern.hpp"
#include "bench/group/group.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// What each process says of itself at the start.
struct Introduction {
  std::string host;
  std::int64_t pid = 0;
  std::string backend;  // what it would run: "nccl"
  std::string profile;  // the profile that it would judge by
  std::string asked;    // its command line, which must be the same on all ranks
};

// What rank 0 makes of the introductions, and tells all.
struct Agreement {
  std::string complaint;           // why the run cannot begin; empty if it can
  std::vector<std::string> hosts;  // each once, in the order of their first ranks
  std::vector<int> local_ranks;    // of every rank, among those of its host
  std::vector<int> nodes;          // of every rank: the place of its host among `hosts`

  bool operator==(const Agreement&) const = default;
};

// One of the types above, Batch, Members, a number or a list of numbers, as text and back. An error
// names the rank whose text it was.
template <class T>
[[nodiscard]] std::string to_message(const T& value);
template <class T>
[[nodiscard]] Result<T> from_message(std::string_view text, int rank);

// Every rank calls the same of these in the same order.

// The values of all ranks, in order, on rank 0; elsewhere nothing.
template <class T>
[[nodiscard]] Result<std::vector<T>> gather(Group& group, const T& mine) {
  TRY_ASSIGN(const auto texts, group.gather(to_message(mine)));
  std::vector<T> values;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    TRY_ASSIGN(auto value, from_message<T>(texts[rank], static_cast<int>(rank)));
    values.push_back(std::move(value));
  }
  return values;
}

// Rank 0's value, on every rank.
template <class T>
[[nodiscard]] Result<T> broadcast(Group& group, const T& value) {
  TRY_ASSIGN(const auto text, group.broadcast(to_message(value)));
  return from_message<T>(text, 0);
}

}  // namespace muster::bench
