// SPDX-License-Identifier: Apache-2.0
// The end of a run that cannot go on: somebody is gone or hangs. The thread that notices reports
// for everybody and ends this process, since the main thread may never come back.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"

namespace muster::bench {

class Emergency {
 public:
  // `rank` is this process'.
  explicit Emergency(int rank) : rank_(rank) {}

  // What is told when it comes to that; replaced as more becomes known.
  void tell_by(std::function<void(const Trouble&)> tell);
  // Whose calls may hang; null when it is gone.
  void watch(Backend* backend);

  // Reports, gives up the back end's work, and ends the process. Does not return; the first call
  // counts, whichever thread it comes from.
  [[noreturn]] void end(const Trouble& trouble);

  // Held while the main thread writes, or changes what would be reported.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(guard_); }

 private:
  int rank_;
  std::atomic<bool> ending_{false};
  std::mutex guard_;
  std::function<void(const Trouble&)> tell_;
  Backend* backend_ = nullptr;
};

// One of the ranks reports: rank 0, or where that is gone the first of those that are left.
[[nodiscard]] bool reports(const Trouble& trouble, int rank);

}  // namespace muster::bench
