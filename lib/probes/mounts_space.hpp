// SPDX-License-Identifier: Apache-2.0
// Asks many file systems how full they are, of which any may hang for ever (a dead NFS server).
#pragma once

#include <sys/statfs.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/result.hpp"
#include "lib/node/mounts.hpp"

namespace muster {

[[nodiscard]] Space space_of(const struct statfs& status);

struct SpaceAnswer {
  bool hung = false;
  Fact<Space> space;

  bool operator==(const SpaceAnswer&) const = default;
};

using AskSpace = std::function<Result<Space>(const std::string& point)>;
using AnnounceSpace = std::function<void(const std::string& point)>;

// One answer for each point, in order. `ask` runs in child processes; where one of them is for a
// single point, `announce` runs in it first. Returns within two deadlines for up to 64 points, and
// one more for each further 64, five in all: points that were not reached by then are unreadable.
[[nodiscard]] std::vector<SpaceAnswer> ask_spaces(const std::vector<std::string>& points,
                                                  std::chrono::milliseconds deadline,
                                                  const AskSpace& ask,
                                                  const AnnounceSpace& announce = {});

}  // namespace muster
