// SPDX-License-Identifier: Apache-2.0
// A thread pool that delivers results in order. It holds a limited number of results, so that
// memory does not grow with the work.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace muster {

template <class Made>
class InOrder {
 public:
  InOrder(std::size_t count, std::size_t threads)
      : count_(count),
        threads_(std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(count, 1))) {}

  // Calls `make(index)` on the threads, and `take(result)` on the caller's thread, in order, until
  // it returns false.
  template <class Make, class Take>
  void run(const Make& make, const Take& take) {
    std::vector<std::thread> workers;
    workers.reserve(threads_);
    for (std::size_t i = 0; i < threads_; ++i) workers.emplace_back([&] { work(make); });
    for (std::size_t i = 0; i < count_; ++i) {
      if (take(wait_for(i))) continue;
      stop();
      break;
    }
    for (auto& worker : workers) worker.join();
  }

 private:
  template <class Make>
  void work(const Make& make) {
    for (;;) {
      std::size_t index = 0;
      {
        std::unique_lock lock(guard_);
        room_.wait(lock, [&] { return next_ >= count_ || next_ < taken_ + kWindow * threads_; });
        if (next_ >= count_) return;
        index = next_++;
      }
      auto made = make(index);
      const std::lock_guard lock(guard_);
      made_.emplace(index, std::move(made));
      ready_.notify_one();
    }
  }

  Made wait_for(std::size_t index) {
    std::unique_lock lock(guard_);
    ready_.wait(lock, [&] { return made_.contains(index); });
    auto made = std::move(made_.extract(index).mapped());
    taken_ = index + 1;
    room_.notify_all();
    return made;
  }

  void stop() {
    const std::lock_guard lock(guard_);
    next_ = count_;
    room_.notify_all();
  }

  static constexpr std::size_t kWindow = 4;  // results per thread that may wait

  std::size_t count_;
  std::size_t threads_;
  std::mutex guard_;
  std::condition_variable room_, ready_;
  std::size_t next_ = 0;
  std::size_t taken_ = 0;
  std::map<std::size_t, Made> made_;
};

}  // namespace muster
