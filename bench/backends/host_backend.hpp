// SPDX-License-Identifier: Apache-2.0
// Base class of the back ends on host memory, whose operations block until they are done, and the
// buffers of a rank, which are reserved once and filled and verified for each operation.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/backends/backend.hpp"
#include "lib/base/result.hpp"
#include "lib/base/root.hpp"

namespace muster::bench {

class HostMemory {
 public:
  // `room`: how many bytes this rank may allocate, if known.
  HostMemory(int rank, int ranks, std::optional<std::uint64_t> room = {})
      : rank_(rank), ranks_(ranks), room_(room) {}

  [[nodiscard]] std::optional<std::uint64_t> room() const { return room_; }

  [[nodiscard]] Result<void> reserve(const Operation& largest);

  // The buffers of an operation. `send` and `receive` are valid addresses even if they are empty.
  struct Buffers {
    Shape shape;
    std::byte* send = nullptr;
    std::byte* receive = nullptr;
    std::byte* whole = nullptr;  // in place: start of the shared buffer; else `receive`
    std::vector<Segment> expected;
  };

  [[nodiscard]] Result<Buffers> lay_out(const Operation& operation) const;

  // Makes every element of the receive buffer wrong, then fills the send buffer.
  void poison_and_fill(const Operation& operation, const Buffers& buffers) const;
  // Empty if every element is right.
  [[nodiscard]] std::vector<Wrong> verify(const Operation& operation, const Buffers& buffers) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  struct Area {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t bytes = 0;
  };

  struct Pair {
    Area send, receive;
  };

  [[nodiscard]] static Result<Area> allocate(std::uint64_t bytes, std::size_t page);
  [[nodiscard]] static Result<Pair> allocate_pair(std::uint64_t send, std::uint64_t receive,
                                                  std::size_t page);

  int rank_, ranks_;
  std::optional<std::uint64_t> room_;
  Pair short_, long_;
};

// Calls `use` with the folder of each control group (version 2) of this process, and those above
// it.
void for_each_group(const Root& root, const std::function<void(const std::string& folder)>& use);

// The bytes that can be allocated without swapping: the kernel's estimate, limited by the control
// groups of this process. Empty if unknown. Call this before any rank reserves its buffers.
[[nodiscard]] std::optional<std::uint64_t> host_memory_available(const Root& root = Root());

// This process as a member of a back end on host memory.
[[nodiscard]] Member host_member(int rank);

// `Calls` is one operation: run() runs it, and meet() returns once all ranks have called it.
template <class Calls>
class HostBackend : public Backend {
 public:
  // `name` is for messages. See HostMemory for `room`.
  HostBackend(std::string_view name, int rank, int ranks, std::optional<std::uint64_t> room)
      : name_(name), rank_(rank), ranks_(ranks), memory_(rank, ranks, room) {}

  [[nodiscard]] int ranks() const override { return ranks_; }

  [[nodiscard]] std::vector<Member> members() const override { return {host_member(rank_)}; }

  [[nodiscard]] std::optional<std::uint64_t> memory_free() const override { return memory_.room(); }

  [[nodiscard]] Result<void> supports(const Operation& /*operation*/,
                                      const Pace& pace) const override {
    if (!pace.graph && pace.together <= 1) return {};
    return make_error("{} on host memory has no {}", name_,
                      pace.graph ? "CUDA graphs" : "groups of operations");
  }

  [[nodiscard]] Result<void> reserve(const Operation& largest) override {
    return memory_.reserve(largest);
  }

  [[nodiscard]] Result<Batch> measure(const Operation& operation, const Pace& pace,
                                      Progress& progress) override {
    TRY_ASSIGN(auto buffers, memory_.lay_out(operation));
    auto calls = calls_of(operation, buffers);
    memory_.poison_and_fill(operation, buffers);
    Samples samples{.rank = rank_, .seconds = {}};
    TRY(time_operations(calls, pace, samples, progress));
    std::vector<Wrong> wrong;
    if (is_repeatable(operation)) wrong = memory_.verify(operation, buffers);
    TRY_ASSIGN(const auto at_last, verify_once(operation, buffers, calls, progress));
    if (wrong.empty()) wrong = at_last;
    return Batch{.samples = {std::move(samples)}, .wrong = std::move(wrong)};
  }

  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation, const Pace& /*pace*/,
                                                  Progress& progress) override {
    TRY_ASSIGN(auto buffers, memory_.lay_out(operation));
    auto calls = calls_of(operation, buffers);
    progress.reset();
    return verify_once(operation, buffers, calls, progress);
  }

 protected:
  // May change the address of the receive buffer.
  [[nodiscard]] virtual Calls calls_of(const Operation& operation,
                                       HostMemory::Buffers& buffers) = 0;

  [[nodiscard]] int rank() const { return rank_; }

 private:
  // Runs the operation once on fresh data. The receive buffer is poisoned first.
  [[nodiscard]] Result<std::vector<Wrong>> verify_once(const Operation& operation,
                                                       const HostMemory::Buffers& buffers,
                                                       Calls& calls, Progress& progress) {
    memory_.poison_and_fill(operation, buffers);
    TRY(counted(calls, progress));
    return memory_.verify(operation, buffers);
  }

  [[nodiscard]] static Result<void> counted(Calls& calls, Progress& progress) {
    progress.started.fetch_add(1, std::memory_order_relaxed);
    TRY(calls.run());
    progress.finished.fetch_add(1, std::memory_order_relaxed);
    return {};
  }

  [[nodiscard]] static Result<void> time_in_a_row(Calls& calls, Samples& samples,
                                                  Progress& progress) {
    CpuTimer cpu(!samples.cpu_seconds.empty());
    cpu.start();
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < samples.seconds.size(); ++i) TRY(counted(calls, progress));
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
    const auto count = static_cast<double>(samples.seconds.size());
    std::ranges::fill(samples.cpu_seconds, cpu.seconds() / count);
    std::ranges::fill(samples.seconds, all.count() / count);
    return {};
  }

  [[nodiscard]] static Result<void> time_one_by_one(Calls& calls, Samples& samples,
                                                    Progress& progress) {
    CpuTimer cpu(!samples.cpu_seconds.empty());
    for (std::size_t i = 0; i < samples.seconds.size(); ++i) {
      progress.started.fetch_add(1, std::memory_order_relaxed);
      cpu.start();
      const auto start = std::chrono::steady_clock::now();
      const auto done = calls.run();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      samples.seconds[i] = took.count();
      if (!samples.cpu_seconds.empty()) samples.cpu_seconds[i] = cpu.seconds();
      TRY(done);
      progress.finished.fetch_add(1, std::memory_order_relaxed);
      TRY(calls.meet());
    }
    return {};
  }

  // Fills in the times of `samples`.
  [[nodiscard]] static Result<void> time_operations(Calls& calls, const Pace& pace,
                                                    Samples& samples, Progress& progress) {
    const auto iterations = static_cast<std::size_t>(pace.iterations);
    samples.seconds.resize(iterations);
    samples.cpu_seconds.resize(pace.cpu_time ? iterations : 0);
    progress.reset();
    TRY(calls.meet());
    for (int i = 0; i < pace.warm_up; ++i) {
      TRY(counted(calls, progress));
      if (!pace.pipelined) TRY(calls.meet());
    }
    if (!pace.pipelined) return time_one_by_one(calls, samples, progress);
    TRY(calls.meet());
    return time_in_a_row(calls, samples, progress);
  }

  std::string_view name_;
  int rank_, ranks_;
  HostMemory memory_;
};

}  // namespace muster::bench
