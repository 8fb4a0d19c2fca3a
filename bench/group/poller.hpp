// SPDX-License-Identifier: Apache-2.0
// poll(2) over sockets that are listed anew each time.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <thread>
#include <vector>

#include "bench/group/group.hpp"

namespace muster::bench {

// Never overflows: a wait of more than a year is one for ever.
[[nodiscard]] inline Clock::time_point after(Clock::duration wait) {
  constexpr auto kForever = std::chrono::hours(24 * 365);
  return wait > kForever ? Clock::time_point::max() : Clock::now() + wait;
}

class Poller {
 public:
  void clear() { sockets_.clear(); }

  // The slot to ask for after wait(). A descriptor of -1 takes none, and is never ready: poll(2)
  // refuses more entries than there may be descriptors.
  std::size_t add(int descriptor, bool writing = false) {
    if (descriptor < 0) return kNoSlot;
    const auto events = static_cast<short>(POLLIN | POLLRDHUP | (writing ? POLLOUT : 0));
    sockets_.push_back({.fd = descriptor, .events = events, .revents = 0});
    return sockets_.size() - 1;
  }

  // For sending alone: what comes meanwhile does not wake.
  void add_writing(int descriptor) {
    sockets_.push_back({.fd = descriptor, .events = POLLOUT, .revents = 0});
  }

  void wait(Clock::time_point until) {
    constexpr Clock::duration kLongest = std::chrono::hours(1);
    const auto left = std::clamp(until - Clock::now(), Clock::duration::zero(), kLongest);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec limit{.tv_sec = seconds.count(),
                         .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
    const int ready = ::ppoll(sockets_.data(), sockets_.size(), &limit, nullptr);
    if (ready >= 0) return;
    const bool interrupted = errno == EINTR;
    for (auto& socket : sockets_) socket.revents = 0;
    // Out of memory, for instance: callers try again, and must not spin meanwhile.
    constexpr Clock::duration kPause = std::chrono::milliseconds(50);
    if (!interrupted) std::this_thread::sleep_for(std::min(left, kPause));
  }

  [[nodiscard]] bool is_ready(std::size_t slot) const {
    return slot < sockets_.size() && sockets_[slot].revents != 0;
  }

 private:
  static constexpr std::size_t kNoSlot = SIZE_MAX;

  std::vector<pollfd> sockets_;
};

}  // namespace muster::bench
