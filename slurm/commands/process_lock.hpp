// SPDX-License-Identifier: Apache-2.0
// A lock that one process at a time can hold.
#pragma once

#include <chrono>
#include <filesystem>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"

namespace muster::app {

struct ProcessLock {
  enum class Holder { ours, others, unknown };

  Holder holder = Holder::unknown;  // unknown: the file could not be opened or locked
  std::chrono::seconds age{};       // how long another process has held it
  Descriptor lock;                  // ours while it is open
};

// Locks `file`, which is created if needed, and does not wait. Only this process holds the lock: a
// child that hangs forever does not inherit it.
[[nodiscard]] ProcessLock try_lock(const std::filesystem::path& file);

// The same, but waits for another process until `end`.
[[nodiscard]] ProcessLock wait_for_lock(const std::filesystem::path& file, Clock::time_point end);

}  // namespace muster::app
