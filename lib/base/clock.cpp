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

std::chrono::sys_seconds wall_time() {
  return std::chrono::sys_seconds(std::chrono::seconds(std::time(nullptr)));
}

std::string utc(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time.time_since_epoch().count()));
}

std::optional<std::chrono::sys_seconds> parse_utc(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !is_digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [&](std::size_t begin, std::size_t size) {
    int value = 0;
    for (const char digit : text.substr(begin, size)) value = value * 10 + (digit - '0');
    return value;
  };
  const std::chrono::year_month_day day(std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2))));
  constexpr int kFirstYear = 1970;
  const bool is_time = number(11, 2) < 24 && number(14, 2) < 60 && number(17, 2) <= 60;
  if (!day.ok() || number(0, 4) < kFirstYear || !is_time) return std::nullopt;
  return std::chrono::sys_days(day) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
}

std::string utc_now() { return utc(wall_time()); }

}  // namespace muster
