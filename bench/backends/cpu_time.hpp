// SPDX-License-Identifier: Apache-2.0
// The CPU time of the calling thread: the time that it ran, without waiting.
#pragma once

#include <ctime>

namespace muster::bench {

[[nodiscard]] inline double thread_cpu_seconds() {
  timespec now{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Reading this clock is a system call, so it is read only if requested.
class CpuTimer {
 public:
  explicit CpuTimer(bool runs) : runs_(runs) {}

  void start() { begin_ = runs_ ? thread_cpu_seconds() : 0; }

  // Since the last start(); 0 if it does not run.
  [[nodiscard]] double seconds() const { return runs_ ? thread_cpu_seconds() - begin_ : 0; }

 private:
  bool runs_;
  double begin_ = 0;
};

}  // namespace muster::bench
