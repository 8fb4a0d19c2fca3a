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

std::string progress_line(const OperationProgress& progress) {
  std::string line = progress.what;
  // Who waits is done itself.
  if (!progress.awaited.empty()) {
    return fmt::format("{}{}; waiting for {}", line, progress.left,
                       ranks_in_words(progress.awaited));
  }
  if (progress.done == 0 || progress.done >= progress.all) return line + progress.left;
  line += fmt::format(": {} of {} iterations", progress.done, progress.all);
  if (!progress.left.empty()) return line + progress.left;
  const double each_s =
      std::chrono::duration<double>(progress.since).count() / static_cast<double>(progress.done);
  const double left_s = each_s * static_cast<double>(progress.all - progress.done);
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
  thread_ = std::jthread([line = std::move(line), show = std::move(show),
                          begin = Clock::now()](const std::stop_token& stop) {
    while (sleep_for(stop, kEvery)) show(line(Clock::now() - begin));
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace muster::bench
