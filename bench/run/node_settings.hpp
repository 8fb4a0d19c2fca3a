// SPDX-License-Identifier: Apache-2.0
// Which profile the nodes are judged by, and what of its settings this process takes over.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "lib/choice/choice.hpp"

namespace muster::bench {

// The named profile, the site's, or the one that this node's hardware calls for.
[[nodiscard]] Attempt<Choice> choose_profile(const std::string& named,
                                             const std::vector<std::string>& settings,
                                             const Variables& variables);

struct Settings {
  std::vector<std::string> taken;     // NAME=value
  std::vector<std::string> left_out;  // and why
};

// Puts the profile's settings into this process' environment, for NCCL, UCX and Open MPI to find;
// what the user has set stays, and so does what a nccl.conf says; what names a file or an interface
// that is not below `root` is left out. UCX's are for what NCCL leaves to it: over MPI they would
// choose its transport.
[[nodiscard]] Settings take_settings(const Profile& profile, BackendKind kind, Variables& variables,
                                     const std::filesystem::path& root = "/");

// A sentence for the report: "environment: the job's own", or with what was set for the profile.
[[nodiscard]] std::string sentence_of(const Settings& settings, std::string_view profile);

// Open MPI 4 takes 0.2 s to find that PSM, PSM2 and libfabric have no fabric here. Where the kernel
// knows no device of any, it is told not to look; what the user has set of that stays. What was set
// and why; empty for nothing.
[[nodiscard]] std::string spare_fabric_search(const Variables& variables,
                                              const std::filesystem::path& root = "/");

}  // namespace muster::bench
