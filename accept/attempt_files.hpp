// SPDX-License-Identifier: Apache-2.0
// The files of attempts in the folder of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/attempt.hpp"
#include "lib/accept/plan.hpp"
#include "lib/base/result.hpp"

namespace muster::accept {

inline constexpr std::string_view kResultEnd = ".json";
inline constexpr std::string_view kStartedEnd = ".started";
// The answer must be the last member of a result.
inline constexpr std::string_view kAnswerBegin = R"(,"answer":)";
inline constexpr std::string_view kAnswerEnd = "}\n";

// "STAGE.NUMBER.json" or "STAGE.NUMBER.started".
struct AttemptName {
  Stage stage = Stage::inventory;
  std::int64_t number = 0;
  bool started = false;
};

// A file of an attempt, and the attempt if the file is its result.
template <class A>
struct AttemptFile {
  AttemptName name;
  Result<A> result;
};

template <class A>
using AttemptFiles = Result<std::vector<AttemptFile<A>>>;

// Return the paths of an attempt's files, without their suffixes, below the run's folder.
[[nodiscard]] std::string name_of(const Attempt& attempt);
[[nodiscard]] std::string name_of(const GroupAttempt& attempt);

[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& file);

// Returns the names in a folder, sorted; none if the folder does not exist.
[[nodiscard]] Result<std::vector<std::string>> names_in(const std::filesystem::path& folder);

// A result comes before the .started file of its attempt. Answers are not read, but their checksums
// are verified.
[[nodiscard]] AttemptFiles<GroupAttempt> read_group_files(const std::filesystem::path& folder);
// One entry for each node.
[[nodiscard]] std::vector<AttemptFiles<Attempt>> read_node_files(
    const std::filesystem::path& folder, const std::vector<OrderedNode>& nodes);

}  // namespace muster::accept
