// SPDX-License-Identifier: Apache-2.0
// What ranks tell rank 0, as text: who they are, what they measured, what was wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// At the start, from each process.
struct Introduction {
  std::string host;
  std::int64_t pid = 0;
  std::string backend;  // what it would run: "nccl"
  std::string profile;  // that it would judge by
  std::string asked;    // its command line, which must be everybody's
};

// After one measurement, from each process.
struct Told {
  std::vector<Samples> samples;
  std::vector<Wrong> wrong;
};

[[nodiscard]] std::string to_wire(const Introduction& introduction);
[[nodiscard]] std::string to_wire(const std::vector<Member>& members);
[[nodiscard]] std::string to_wire(const Told& told);
// An error says which rank's text it was.
[[nodiscard]] Result<Introduction> parse_introduction(std::string_view text, int rank);
[[nodiscard]] Result<std::vector<Member>> parse_members(std::string_view text, int rank);
[[nodiscard]] Result<Told> parse_told(std::string_view text, int rank);

// Several texts as one.
[[nodiscard]] std::string join_texts(const std::vector<std::string>& texts);
[[nodiscard]] Result<std::vector<std::string>> split_texts(std::string_view text);

}  // namespace muster::bench
