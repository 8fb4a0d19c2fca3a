// SPDX-License-Identifier: Apache-2.0
// The CPU time of the calling thread: the time in which it ran, and not that in which it waited.
#pragma once

#include <ctime>

namespace muster::bench {

[[nodiscard]] inline double thread_cpu_seconds() {
  timespec now{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);  // there since Linux 2.6.12
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Reading that clock is a call of the kernel, which is spared where nobody asks.
class CpuTimer {
 public:
  explicit CpuTimer(bool runs) : runs_(runs) {}

  void start() { begin_ = runs_ ? thread_cpu_seconds() : 0; }

  // Since the last start; 0 where it does not run.
  [[nodiscard]] double seconds() const { return runs_ ? thread_cpu_seconds() - begin_ : 0; }

 private:
  bool runs_;
  double begin_ = 0;
};

}  // namespace muster::bench
