// SPDX-License-Identifier: Apache-2.0
// Work on several threads whose results are delivered in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <future>
#include <type_traits>
#include <vector>

namespace muster {

// Calls `make(index)` for 0 to `count` - 1 on threads, and `take(result)` on this thread, in order,
// until it returns false. Holds a limited number of results, so that memory does not grow with the
// work. A thread makes `batch` of them: few if each takes long.
template <class Make, class Take>
void make_in_order(std::size_t count, std::size_t threads, const Make& make, const Take& take,
                   std::size_t batch = 16) {
  using Batch = std::vector<std::invoke_result_t<Make, std::size_t>>;
  const auto make_batch = [&](std::size_t first) {
    Batch made;
    for (auto i = first; i < std::min(first + batch, count); ++i) made.push_back(make(i));
    return made;
  };
  std::deque<std::future<Batch>> pending;
  for (std::size_t next = 0; next < count || !pending.empty();) {
    for (; next < count && pending.size() <= threads; next += batch) {
      pending.push_back(std::async(std::launch::async, make_batch, next));
    }
    for (auto& made : pending.front().get()) {
      if (!take(std::move(made))) return;  // waits for the threads that still run
    }
    pending.pop_front();
  }
}

}  // namespace muster
