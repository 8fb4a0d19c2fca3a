// SPDX-License-Identifier: Apache-2.0
// The end of a back end's call that does not come back: the back end is given up, the process goes
// on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/backends/backend.hpp"

namespace muster::bench::locate {

class Patience {
 public:
  // Aborts `backend` once it has finished no operation for `limit`. Both must live longer.
  Patience(Backend& backend, const Progress& progress, std::chrono::nanoseconds limit);
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  ~Patience();

  [[nodiscard]] bool is_over() const { return over_; }

 private:
  void watch();

  Backend& backend_;
  const Progress& progress_;
  std::chrono::nanoseconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace muster::bench::locate
