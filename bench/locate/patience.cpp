// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/patience.hpp"

namespace muster::bench::locate {

Patience::Patience(Backend& backend, const Progress& progress, std::chrono::nanoseconds limit)
    : backend_(backend), progress_(progress), limit_(limit), thread_([this] { watch(); }) {}

Patience::~Patience() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Patience::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto finished = progress_.finished.load();
    if (changed_.wait_for(lock, limit_, [this] { return done_; })) return;
    if (progress_.finished.load() == finished) break;
  }
  over_ = true;
  lock.unlock();
  backend_.abort();
}

}  // namespace muster::bench::locate
