// SPDX-License-Identifier: Apache-2.0
#include "bench/run/stop_signals.hpp"

#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "bench/launch/local.hpp"

namespace muster::bench {

void on_stop_signal(std::function<void(const StopSignal&)> stop) {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&taken, number);
  if (::pthread_sigmask(SIG_BLOCK, &taken, nullptr) != 0) return;
  std::thread([taken, stop = std::move(stop)] {
    siginfo_t info{};
    int number = -1;
    while (number < 0) number = ::sigwaitinfo(&taken, &info);
    StopSignal signal{.number = number, .lost = {}};
    if (info.si_code == SI_QUEUE && info.si_pid == ::getppid() && info.si_value.sival_int > 0) {
      signal.lost = rank_told(info.si_value.sival_int);
    }
    stop(signal);
  }).detach();
}

}  // namespace muster::bench
