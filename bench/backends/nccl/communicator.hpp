// SPDX-License-Identifier: Apache-2.0
// NCCL's communicator: created without blocking if the version supports it, checked for
// asynchronous errors, and aborted from another thread if it hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/backends/nccl/library.hpp"
#include "bench/collectives/operation.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// An operation of one rank and its buffers.
struct OperationRun {
  Operation operation;
  Shape shape;
  cuda::Pointer send = 0;
  cuda::Pointer receive = 0;
  std::vector<Segment> expected = {};
};

class Communicator {
 public:
  Communicator(nccl::Library library, int rank, int ranks)
      : library_(std::move(library)), rank_(rank), ranks_(ranks) {}

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // Makes the id that all ranks need. One rank calls this.
  [[nodiscard]] Result<std::string> make_id() const;
  // Returns when all ranks have joined, or after the limit. See NcclOptions for `blocking`.
  [[nodiscard]] Result<void> join(const std::string& id, bool blocking,
                                  std::optional<std::chrono::nanoseconds> limit = {});

  // Registers memory until release_memory() or destruction.
  [[nodiscard]] Result<void> register_memory(cuda::Pointer memory, std::uint64_t bytes);
  void release_memory();

  // Enqueues the operation `times` times, as one group.
  [[nodiscard]] Result<void> enqueue(const OperationRun& run, cuda::Stream stream, int times = 1);

  // Fails if NCCL has reported an error or the communicator was aborted.
  [[nodiscard]] Result<void> healthy();

  // Thread-safe. Returns within seconds even if NCCL hangs.
  void abort() noexcept;

 private:
  [[nodiscard]] int call(const OperationRun& run, cuda::Stream stream, int round = 0);
  // Returns "in progress" if the state cannot be queried.
  [[nodiscard]] int state();
  // Waits for a call that returned "in progress", and aborts it at the deadline.
  [[nodiscard]] Result<void> wait_for_call(
      std::string_view what, int code,
      std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());
  void leave();

  nccl::Library library_;
  int rank_;
  int ranks_;
  std::atomic<nccl::Communicator> handle_{nullptr};
  std::atomic<bool> given_up_{false};
  bool failed_ = false;
  std::vector<void*> registered_;  // NCCL's handles
  std::mutex asking_;              // held only while the state is queried
};

}  // namespace muster::bench
