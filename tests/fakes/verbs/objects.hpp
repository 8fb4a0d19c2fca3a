// SPDX-License-Identifier: Apache-2.0
// The objects of the fake libibverbs. Each begins with the library's own structure.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

namespace muster::fakes::verbs {

struct Device {
  ibv_device base{};
  int number = 0;
};

struct Context {
  ibv_context base{};
  int number = 0;
};

struct Completions {
  ibv_cq base{};
  std::deque<std::pair<double, ibv_wc>> waiting;  // with the time in ns at which each is ready
  std::size_t posted = 0;                         // of its queue pairs, not polled yet
};

struct Pair {
  ibv_qp base{};
  int number = 0;  // of its HCA
  ibv_qp_state state = IBV_QPS_RESET;
  std::uint32_t peer = 0;
  unsigned remote_access = 0;
  std::uint16_t pkey_index = 0;
  std::uint32_t depth = 0;
  std::uint32_t posted = 0;
  Completions* completions = nullptr;
};

struct Region {
  ibv_mr base{};
  unsigned access = 0;
  bool of_gpu = false;
};

// All objects. Leftovers do not matter, since the tests' processes end.
struct Everything {
  std::mutex mutex;
  std::map<std::uint32_t, Pair*> pairs;      // by number
  std::map<std::uint32_t, Region*> regions;  // by key
  std::uint32_t next = 100;
};

[[nodiscard]] Everything& everything();

// Converts the library's pointer to the fake's.
template <class T, class Base>
[[nodiscard]] T* own(Base* base) {
  return reinterpret_cast<T*>(base);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
}

// Executes posted work.
[[nodiscard]] int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** bad);
[[nodiscard]] int poll_cq(ibv_cq* completions, int most, ibv_wc* done);

}  // namespace muster::fakes::verbs
