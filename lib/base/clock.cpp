// SPDX-License-Identifier: Apache-2.0
#include "lib/base/clock.hpp"

#include <fmt/chrono.h>

#include <condition_variable>
#include <ctime>
#include <mutex>

namespace muster {

Clock::duration to_duration(Seconds seconds) {
  constexpr double kForever = 1e9;  // more would overflow
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds.value, kForever)));
}

std::string TimeLimit::allowed() const {
  const std::chrono::duration<double> time = deadline_ - started_;
  return fmt::format("{:.3g} s", std::max(time.count(), 0.0));
}

bool sleep_for(const std::stop_token& stop, Clock::duration time) {
  std::mutex mutex;
  // wait_for() requires a lock, although there is nothing to guard.
  // cppcheck-suppress localMutex
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  return !stopped.wait_for(lock, stop, time, [&stop] { return stop.stop_requested(); });
}

double elapsed_ms(Clock::time_point since) {
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - since);
  return static_cast<double>(whole.count()) / 1000;
}

std::chrono::sys_seconds wall_time() {
  return std::chrono::sys_seconds(std::chrono::seconds(std::time(nullptr)));
}

std::string utc(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time.time_since_epoch().count()));
}

std::string utc(std::int64_t unix_time) {
  return utc(std::chrono::sys_seconds(std::chrono::seconds(unix_time)));
}

std::optional<std::chrono::sys_seconds> parse_utc(std::string_view text) {
  const std::string terminated(text);
  std::tm parts{};
  if (::strptime(terminated.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return std::nullopt;
  const std::chrono::sys_seconds time(std::chrono::seconds(::timegm(&parts)));
  // strptime() accepts other forms as well, such as days without a leading zero.
  if (time.time_since_epoch().count() < 0 || utc(time) != text) return std::nullopt;
  return time;
}

std::string utc_now() { return utc(wall_time()); }

}  // namespace muster
