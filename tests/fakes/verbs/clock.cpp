// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "tests/fakes/verbs/verbs.hpp"

namespace muster::fakes::verbs {
namespace {

struct Clock {
  double shown = 0;             // what the thread read last; its time while transfers are under way
  double ahead = 0;             // of the host's clock
  std::uint32_t transfers = 0;  // under way
  bool ended = false;           // they have, and the clock has not been read since
};

thread_local constinit Clock clock_of_thread;

constexpr double kSecond = 1e9;

double host_now() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return kSecond * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double read_clock() {
  auto& clock = clock_of_thread;
  if (clock.transfers > 0) return clock.shown;
  // A query right after the last transfer returns its end.
  if (clock.ended) clock.ahead = clock.shown - host_now();
  if (!clock.ended) clock.shown = host_now() + clock.ahead;
  clock.ended = false;
  return clock.shown;
}

}  // namespace

double clock_now() { return clock_of_thread.shown; }

void clock_begin() { ++clock_of_thread.transfers; }

void clock_advance(double when) {
  auto& clock = clock_of_thread;
  if (clock.transfers > 0) clock.shown = std::max(clock.shown, when);
}

void clock_end(std::uint32_t transfers) {
  auto& clock = clock_of_thread;
  const auto ending = std::min(transfers, clock.transfers);
  clock.transfers -= ending;
  if (ending > 0 && clock.transfers == 0) clock.ended = true;
}

}  // namespace muster::fakes::verbs

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock_id,
                                                                    timespec* tp) noexcept {
  using muster::fakes::verbs::kSecond;
  if (clock_id != CLOCK_MONOTONIC)
    return static_cast<int>(::syscall(SYS_clock_gettime, clock_id, tp));
  const double shown = muster::fakes::verbs::read_clock();
  tp->tv_sec = static_cast<time_t>(shown / kSecond);
  tp->tv_nsec = static_cast<long>(shown - kSecond * static_cast<double>(tp->tv_sec));
  return 0;
}
