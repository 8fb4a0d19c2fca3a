// SPDX-License-Identifier: Apache-2.0
// One process at a time does what two would do twice.
#pragma once

#include <chrono>
#include <filesystem>

#include "lib/base/descriptor.hpp"

namespace muster::app {

struct Turn {
  enum class Standing { ours, others, unknown };

  Standing standing = Standing::unknown;  // unknown: the file could not be opened
  std::chrono::seconds age{};             // how long another process has had it
  Descriptor lock;                        // ours while it is open
};

// By a lock on `file`, which is made where there is none. The lock is the process': a child that
// hangs for ever does not inherit it.
[[nodiscard]] Turn take_turn(const std::filesystem::path& file);

}  // namespace muster::app
