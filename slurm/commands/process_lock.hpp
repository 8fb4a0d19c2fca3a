// SPDX-License-Identifier: Apache-2.0
// A lock for what only one process at a time may do.
#pragma once

#include <chrono>
#include <filesystem>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"

namespace muster::app {

struct ProcessLock {
  enum class Holder { ours, others, unknown };

  Holder holder = Holder::unknown;  // unknown: the file could not be opened or locked
  std::chrono::seconds age{};       // how long another process has had it
  Descriptor lock;                  // ours while it is open
};

// Locks `file`, which is made where there is none, and does not wait. The lock belongs to this
// process alone: a child that hangs for ever does not inherit it.
[[nodiscard]] ProcessLock try_lock(const std::filesystem::path& file);

// Takes the lock, and waits for another process until `end`.
[[nodiscard]] ProcessLock wait_for_lock(const std::filesystem::path& file, Clock::time_point end);

}  // namespace muster::app
