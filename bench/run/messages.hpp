// SPDX-License-Identifier: Apache-2.0
// What ranks tell rank 0, as text: who they are, what they measured, what was wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/collectives/pattern.hpp"
#include "bench/launch/place.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// At the start, from each process.
struct Introduction {
  std::string host;
  std::int64_t pid = 0;
  std::string backend;            // what it would run: "nccl"
  std::string profile;            // that it would judge by
  std::string asked;              // its command line, which must be everybody's
  std::vector<Rendezvous> doors;  // where it listens, to be seen; rank 1 alone
};

// What comes of the introductions, from rank 0 to all.
struct Agreement {
  std::string complaint;           // why there is none; else empty
  std::vector<std::string> hosts;  // each once, in the order of their first ranks
  std::vector<int> local_ranks;    // of every rank, among those of its host
  // The first rank on another node than rank 0's, where rank 1 is not that: it reports where both
  // of those are gone. Else 0.
  int deputy = 0;
  std::vector<Rendezvous> doors;  // of rank 1, to see whether it is gone

  bool operator==(const Agreement&) const = default;
};

// After one measurement, from each process.
struct Told {
  std::vector<Samples> samples;
  std::vector<Wrong> wrong;
};

[[nodiscard]] std::string to_wire(const Introduction& introduction);
[[nodiscard]] std::string to_wire(const Agreement& agreement);
[[nodiscard]] std::string to_wire(const std::vector<Member>& members);
[[nodiscard]] std::string to_wire(const Told& told);
// An error says which rank's text it was.
[[nodiscard]] Result<Introduction> parse_introduction(std::string_view text, int rank);
[[nodiscard]] Result<Agreement> parse_agreement(std::string_view text);  // rank 0's
[[nodiscard]] Result<std::vector<Member>> parse_members(std::string_view text, int rank);
[[nodiscard]] Result<Told> parse_told(std::string_view text, int rank);

}  // namespace muster::bench
