// SPDX-License-Identifier: Apache-2.0
#include "bench/run/ticker.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <utility>

#include "bench/group/trouble.hpp"

namespace muster::bench {
namespace {

constexpr std::chrono::seconds kEvery{1};

}  // namespace

std::string progress_line(const Going& going) {
  std::string line = going.what;
  // Who waits is done itself.
  if (!going.awaited.empty()) {
    return fmt::format("{}{}; waiting for {}", line, going.left, ranks_in_words(going.awaited));
  }
  if (going.done == 0 || going.done >= going.all) return line + going.left;
  line += fmt::format(": {} of {} iterations", going.done, going.all);
  if (!going.left.empty()) return line + going.left;
  const double each_s =
      std::chrono::duration<double>(going.since).count() / static_cast<double>(going.done);
  const double left_s = each_s * static_cast<double>(going.all - going.done);
  return left_s < 1 ? line : fmt::format("{}; about {:.0f} s of it left", line, left_s);
}

Ticker::Ticker(std::function<std::string(Clock::duration since)> line,
               std::function<void(std::string_view)> show) {
  show(line({}));
  // Signals are the process' own: none is handled on this thread.
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([line = std::move(line), show = std::move(show), begin = Clock::now()](
                             const std::stop_token& stop) {
    while (sleep_for(stop, kEvery)) show(line(Clock::now() - begin));
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace muster::bench
