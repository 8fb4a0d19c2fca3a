// SPDX-License-Identifier: Apache-2.0
#include "bench/app/stop_signals.hpp"

#include <csignal>
#include <thread>
#include <utility>

namespace muster::bench {

void on_stop_signal(std::function<void(int)> stop) {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&taken, number);
  if (::pthread_sigmask(SIG_BLOCK, &taken, nullptr) != 0) return;
  std::thread([taken, stop = std::move(stop)] {
    int number = 0;
    if (::sigwait(&taken, &number) == 0) stop(number);
  }).detach();
}

}  // namespace muster::bench
