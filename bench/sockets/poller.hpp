// SPDX-License-Identifier: Apache-2.0
// poll(2) over a list of sockets that is rebuilt for each wait.
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

#include "lib/base/clock.hpp"

namespace muster::bench {

// Never overflows: more than a year means forever.
[[nodiscard]] inline Clock::time_point after(Clock::duration wait) {
  constexpr auto kForever = std::chrono::hours(24 * 365);
  return wait > kForever ? Clock::time_point::max() : Clock::now() + wait;
}

class Poller {
 public:
  void clear() { sockets_.clear(); }

  // Returns the slot for is_ready(). A descriptor of -1 takes no slot and is never ready: poll(2)
  // refuses more entries than the limit on descriptors.
  std::size_t add(int descriptor, bool writing = false) {
    if (descriptor < 0) return kNoSlot;
    const auto events = static_cast<short>(POLLIN | POLLRDHUP | (writing ? POLLOUT : 0));
    sockets_.push_back({.fd = descriptor, .events = events, .revents = 0});
    return sockets_.size() - 1;
  }

  // Wakes only when the socket can be written to.
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
    // Out of memory, for example: callers try again and must not spin.
    constexpr Clock::duration kPause = std::chrono::milliseconds(50);
    if (!interrupted) std::this_thread::sleep_for(std::min(left, kPause));
  }

  [[nodiscard]] bool is_ready(std::size_t slot) const {
    return slot < sockets_.size() && sockets_[slot].revents != 0;
  }

  [[nodiscard]] bool is_any_ready() const {
    return std::ranges::any_of(sockets_, [](const pollfd& each) { return each.revents != 0; });
  }

 private:
  static constexpr std::size_t kNoSlot = SIZE_MAX;

  std::vector<pollfd> sockets_;
};

}  // namespace muster::bench
