// SPDX-License-Identifier: Apache-2.0
// The values that ranks exchange through their group, and how they are sent.
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

// Sent by every process at the start.
struct Introduction {
  std::string host;
  std::int64_t pid = 0;
  std::string backend;  // that it would run: "nccl"
  std::string profile;  // that it would judge by
  std::string asked;    // its command line, which must be the same on all ranks
};

// Rank 0's conclusion from the introductions, sent to all.
struct Agreement {
  std::string complaint;           // why the run cannot start; empty if it can
  std::vector<std::string> hosts;  // each once, in the order of their first ranks
  std::vector<int> local_ranks;    // of every rank, among those of its host
  std::vector<int> nodes;          // of every rank: the index of its host in `hosts`

  bool operator==(const Agreement&) const = default;
};

using ByteList = std::vector<std::uint8_t>;

// Convert one of the types above, Batch, Members, a number or a list of numbers to text and back.
// An error names the rank that sent the text.
template <class T>
[[nodiscard]] std::string to_message(const T& value);
template <class T>
[[nodiscard]] Result<T> from_message(std::string_view text, int rank);

// Every rank must call the functions below in the same order.

// Returns the values of all ranks, in order, on rank 0; elsewhere nothing.
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

// Returns rank 0's value on every rank.
template <class T>
[[nodiscard]] Result<T> broadcast(Group& group, const T& value) {
  TRY_ASSIGN(const auto text, group.broadcast(to_message(value)));
  return from_message<T>(text, 0);
}

}  // namespace muster::bench
