// SPDX-License-Identifier: Apache-2.0
// Reads the space of many file systems, any of which may hang forever (a dead NFS server).
#pragma once

#include <sys/statfs.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/result.hpp"
#include "lib/node/host.hpp"

namespace muster {

[[nodiscard]] Space space_of(const struct statfs& status);

struct SpaceAnswer {
  bool hung = false;
  Fact<Space> space;

  bool operator==(const SpaceAnswer&) const = default;
};

using AskSpace = std::function<Result<Space>(const std::string& point)>;
using AnnounceSpace = std::function<void(const std::string& point)>;

// Returns one answer for each point, in order. `ask` runs in child processes; in a child for a
// single point `announce` runs first. Takes two deadlines for up to 64 points, and one more for
// each further 64, at most five: points that were not reached by then are unreadable.
[[nodiscard]] std::vector<SpaceAnswer> ask_spaces(const std::vector<std::string>& points,
                                                  std::chrono::milliseconds deadline,
                                                  const AskSpace& ask,
                                                  const AnnounceSpace& announce = {});

}  // namespace muster
