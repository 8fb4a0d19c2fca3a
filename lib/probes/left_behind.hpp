// SPDX-License-Identifier: Apache-2.0
// Children of earlier runs that hang in the kernel, where no signal ends them: what each was about
// to do is not done again, so that their number does not grow.
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

// What the kernel's name of each of our children begins with.
inline constexpr std::string_view kOwnName = "muster:";

struct LeftBehind {
  std::uint64_t pid = 0;
  std::string work;    // as it was announced
  Fact<double> for_s;  // since the child was started
};

// Says what the work is, where later runs find it; a child calls it before work that may hang.
void announce_work(std::string_view work);

// Whether the process (or thread) in this folder of /proc runs a program called muster.
[[nodiscard]] bool runs_muster(const Root& root, const std::string& folder);

// The processes of earlier runs by this user that hang on this host by now. None where there is no
// `state_file`, or its folder could hold a note of them and does not; else all processes are looked
// through.
[[nodiscard]] std::vector<LeftBehind> find_left_behind(
    const std::optional<std::filesystem::path>& state_file);

}  // namespace muster
