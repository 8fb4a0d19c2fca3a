// SPDX-License-Identifier: Apache-2.0
#include "bench/run/emergency.hpp"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "bench/run/run_record.hpp"
#include "lib/base/clock.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {
namespace {

// Aborts are known to hang themselves, and nobody may read what is written.
void call_within(Clock::duration patience, std::function<void()> call) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([call = std::move(call), done] {
    call();
    *done = true;
  }).detach();
  const auto until = Clock::now() + patience;
  while (!*done && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

bool reports(const Trouble& trouble, int rank) { return rank == (trouble.without_rank_0 ? 1 : 0); }

void Emergency::report_through(TroubleReporter reporter) {
  const auto held = hold();
  reporter_ = std::move(reporter);
}

void Emergency::watch(Backend* backend) {
  const auto held = hold();
  backend_ = backend;
}

void Emergency::watch(Group* group) {
  const auto held = hold();
  group_ = group;
}

void Emergency::begin_stop() { stopping_since_ = Clock::now(); }

// A launcher that ends the others because one was lost does so after the loss.
bool Emergency::is_echo(const Trouble& trouble) const {
  constexpr auto kLater = std::chrono::milliseconds(150);
  if (trouble.kind != Trouble::Kind::given_up && trouble.kind != Trouble::Kind::lost) return false;
  const auto since = stopping_since_.load();
  return since != Clock::time_point::max() && Clock::now() - since > kLater;
}

void Emergency::report(const Trouble& trouble) {
  const auto held = hold();
  tell(trouble);
}

void Emergency::tell(const Trouble& trouble) {
  if (!reporter_.report) return;
  if (reports(trouble, rank_) && !reported_) {
    reported_ = true;
    reporter_.report(trouble);
  } else if (trouble.without_rank_0 || reported_) {
    // Whoever else has noticed may be gone, too.
    reporter_.note(trouble);
  }
}

void Emergency::end(const Trouble& trouble) {
  if (ending_.exchange(true)) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  // The main thread may be writing, and finishes its line; it may also hang there.
  std::unique_lock held(guard_, std::defer_lock);
  const auto until = Clock::now() + patience_;
  while (!held.try_lock() && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const bool echo = is_echo(trouble);
  // A launcher that ends all because one was lost is not what went wrong.
  const auto losses = trouble.kind == Trouble::Kind::stopped && group_ != nullptr
                          ? group_->losses()
                          : std::vector<Trouble>{};
  const auto& cause = losses.empty() ? trouble : losses.front();
  if (!echo) tell(cause);
  if (trouble.kind == Trouble::Kind::stopped && group_ != nullptr) {
    group_->give_up({.why = trouble.what, .stopped = true});
  }
  if (backend_ != nullptr) call_within(patience_, [this] { backend_->abort(); });
  if (reporter_.before_exit) call_within(patience_, reporter_.before_exit);
  ::_exit(echo ? kExitUndecided : exit_status_of(cause));
}

}  // namespace muster::bench
