// SPDX-License-Identifier: Apache-2.0
// The fake libibverbs: its scenario, its objects and its clock. The JSON file named by
// MUSTER_FAKE_VERBS lists HCAs and their faults. If the variable is not set, no HCA has a fault.
//
// The clock replaces the host's steady clock: during transfers of a thread, that thread's clock
// shows the fake's time, and otherwise continues as the host's. It replaces clock_gettime in
// programs that are linked with this library or preload it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster::fakes::verbs {

struct Scenario {
  MUSTER_DESCRIBED(Scenario);
  MUSTER_FIELD(int, hcas, "mlx5_ib0 …") = 8;
  MUSTER_FIELD(double, gbps, "of each") = 396;
  MUSTER_FIELD(ByName<double>, slow, "what this HCA sends and what it takes");
  MUSTER_FIELD(double, noise, "a round is faster or slower by up to this share") = 0;
  MUSTER_FIELD(double, latency_us, "of each transfer; small buffers show the rate") = 0.02;
  MUSTER_FIELD(std::vector<int>, down, "HCAs whose port is down");
  MUSTER_FIELD(std::vector<int>, ethernet, "RoCE");
  MUSTER_FIELD(std::vector<int>, closed, "may not be opened");
  MUSTER_FIELD(std::vector<int>, locked, "register no memory");
  MUSTER_FIELD(std::optional<int>, spoilt, "one bit of what it writes");
  MUSTER_FIELD(std::optional<int>, skipped, "one of its writes completes and writes nothing");
  MUSTER_FIELD(std::optional<int>, dropped, "its writes of 8 bytes write nothing");
  MUSTER_FIELD(std::optional<int>, failing, "its transfers complete with an error");
  MUSTER_FIELD(std::optional<int>, silent, "they never complete");
  MUSTER_FIELD(std::vector<int>, slow_gpus, "half of the rate for memory of GPUs");
  MUSTER_FIELD(bool, no_dma_buf, "no handle for memory of GPUs") = false;
  MUSTER_FIELD(bool, no_relaxed, "nor one with relaxed ordering") = false;
  MUSTER_FIELD(bool, slow_strict, "half of the rate for GPUs' memory without it") = false;
  MUSTER_FIELD(bool, apart, "no HCA reaches another") = false;
  MUSTER_FIELD(bool, limited, "the first partition key is a limited member's") = false;
};

[[nodiscard]] const Scenario& scenario();
[[nodiscard]] bool holds(const std::vector<int>& hcas, int number);

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

// The calling thread's clock, in nanoseconds.
[[nodiscard]] double clock_now();
void clock_begin();               // one more transfer is under way
void clock_advance(double when);  // to then, if that is later
void clock_end(std::uint32_t transfers);

}  // namespace muster::fakes::verbs
