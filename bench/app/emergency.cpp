// SPDX-License-Identifier: Apache-2.0
#include "bench/app/emergency.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "lib/report/report.hpp"

namespace muster::bench {
namespace {

// Aborts are known to hang themselves.
constexpr auto kAbortPatience = std::chrono::seconds(2);

void abort_within(Backend& backend, std::chrono::milliseconds patience) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([&backend, done] {
    backend.abort();
    *done = true;
  }).detach();
  const auto until = Clock::now() + patience;
  while (!*done && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

bool reports(const Trouble& trouble, int rank) {
  int first = 0;
  while (std::ranges::find(trouble.ranks, first) != trouble.ranks.end() &&
         trouble.kind == Trouble::Kind::lost) {
    ++first;
  }
  return rank == first;
}

void Emergency::tell_by(std::function<void(const Trouble&)> tell) {
  const auto held = hold();
  tell_ = std::move(tell);
}

void Emergency::watch(Backend* backend) {
  const auto held = hold();
  backend_ = backend;
}

void Emergency::end(const Trouble& trouble) {
  if (ending_.exchange(true)) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  // The main thread may be writing, and finishes its line; it may also hang there.
  std::unique_lock held(guard_, std::defer_lock);
  const auto until = Clock::now() + kAbortPatience;
  while (!held.try_lock() && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (tell_ && reports(trouble, rank_)) tell_(trouble);
  if (backend_ != nullptr) abort_within(*backend_, kAbortPatience);
  const bool stopped = trouble.kind == Trouble::Kind::stopped;
  ::_exit(stopped ? kExitUndecided : kExitUnhealthy);
}

}  // namespace muster::bench
