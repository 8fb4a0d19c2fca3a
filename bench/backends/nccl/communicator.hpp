// SPDX-License-Identifier: Apache-2.0
// NCCL's communicator: begun without blocking where the version can, watched for asynchronous
// errors, and given up from another thread when it hangs.
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

// An operation of one rank, and where its data lie.
struct Run {
  Operation operation;
  Shape shape;
  cuda::Pointer send = 0;
  cuda::Pointer receive = 0;
};

class Communicator {
 public:
  Communicator(nccl::Library library, int rank, int ranks)
      : library_(std::move(library)), rank_(rank), ranks_(ranks) {}

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // 128 bytes that every rank must have; made by one.
  [[nodiscard]] Result<std::string> make_id() const;
  // Returns when every rank has come, or the time is over. `blocking`: see NcclOptions.
  [[nodiscard]] Result<void> join(const std::string& id, bool blocking,
                                  std::optional<std::chrono::nanoseconds> limit = {});

  // Registers memory, until the communicator is left or release_memory() is called.
  [[nodiscard]] Result<void> register_memory(cuda::Pointer memory, std::uint64_t bytes);
  void release_memory();

  // Puts the operation on the stream, `times` of them as one group, and returns when it is there.
  [[nodiscard]] Result<void> enqueue(const Run& run, cuda::Stream stream, int times = 1);

  // An error if NCCL has reported one meanwhile, or if the communicator was given up.
  [[nodiscard]] Result<void> healthy();

  // May be called from any thread, whatever the others do. Returns within seconds, though NCCL may
  // hang.
  void abort() noexcept;

 private:
  [[nodiscard]] int call(const Run& run, cuda::Stream stream, int round = 0);
  // The state of the communicator; in progress where it cannot be asked.
  [[nodiscard]] int state();
  // Waits until a call that answered "in progress" is done; if it is not by then, gives up.
  [[nodiscard]] Result<void> settle(
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
  std::mutex asking_;              // held while NCCL is asked for its state, and not while it works
};

}  // namespace muster::bench
