// SPDX-License-Identifier: Apache-2.0
// Trouble as bytes and in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group/group.hpp"
#include "bench/group/phase_monitor.hpp"

namespace muster::bench {

[[nodiscard]] std::string to_bytes(const Trouble& trouble);
[[nodiscard]] std::optional<Trouble> read_trouble(std::string_view bytes);

[[nodiscard]] std::string to_bytes(const Stage& stage);
[[nodiscard]] std::optional<Stage> read_stage(std::string_view bytes);

// "rank 3", "ranks 3 and 5-7"; "no rank".
[[nodiscard]] std::string ranks_in_words(const std::vector<int>& ranks);
// "2.5 s".
[[nodiscard]] std::string in_words(Clock::duration duration);

// What is known of a rank when a phase takes too long.
struct Answer {
  int rank = 0;
  std::string name;
  std::optional<Stage> stage;  // where it is; nothing: it does not answer
};

// Who keeps the others waiting: those that do not answer, and those that have entered fewer phases
// than others or are at work where others wait for them. Who is behind and waits is behind because
// of somebody else, if there is somebody else.
[[nodiscard]] Trouble late_trouble(const Stage& overdue, const std::vector<Answer>& answers);

}  // namespace muster::bench
