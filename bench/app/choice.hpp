// SPDX-License-Identifier: Apache-2.0
// Which profile the nodes are judged by, and what of its settings this process takes over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/app/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "lib/choice/choice.hpp"

namespace muster::bench {

// The named profile, the site's, or the one that this node's hardware calls for.
[[nodiscard]] Attempt<Choice> choose_profile(const BenchCommand& command,
                                             const Variables& variables);

struct Settings {
  std::vector<std::string> taken;     // NAME=value
  std::vector<std::string> left_out;  // and why
};

// Puts the profile's settings into this process' environment, for NCCL, UCX and Open MPI to find;
// what the user has set stays, and what names a file or an interface that is not below `root` is
// left out. UCX's are for what NCCL leaves to it: over MPI they would choose its transport.
[[nodiscard]] Settings take_settings(const Profile& profile,
                                     BackendKind kind,
                                     Variables& variables,
                                     const std::filesystem::path& root = "/");

}  // namespace muster::bench
