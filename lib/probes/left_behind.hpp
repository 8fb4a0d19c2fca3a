// SPDX-License-Identifier: Apache-2.0
// Children of earlier runs that hang in the kernel, where no signal ends them. Their work is not
// repeated, so that their number does not grow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/root.hpp"

namespace muster {

// The prefix of the names (comm) of our children.
inline constexpr std::string_view kOwnName = "muster:";

struct LeftBehind {
  std::uint64_t pid = 0;
  std::string work;    // as announced
  Fact<double> for_s;  // time since the child was started
};

// Publishes a child's work for later runs; called before work that may hang.
void announce_work(std::string_view work);

// Whether the process or thread in a folder of /proc runs a program named muster.
[[nodiscard]] bool runs_muster(const Root& root, const std::string& folder);

// Returns this user's processes of earlier runs that hang on this host. Searches all processes,
// unless there is no `state_file` or its folder shows that nothing was left behind.
[[nodiscard]] std::vector<LeftBehind> find_left_behind(
    const std::optional<std::filesystem::path>& state_file);

}  // namespace muster
