// SPDX-License-Identifier: Apache-2.0
// The NCCL back end, on the GPU of this process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/nccl/gpu.hpp"
#include "bench/collectives/operation.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct NcclOptions {
  std::string cuda;  // the path of libcuda.so.1; empty: found by name
  std::string nccl;  // the path of libnccl.so.2; empty: found by name
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  std::string host;
  // Returns rank 0's text on every rank.
  std::function<Result<std::string>(std::string_view)> broadcast;
  // How long the ranks may take to form their communicator; by default forever. If it has not
  // formed by then, each operation of the back end fails. With a limit NCCL's calls do not block,
  // and NCCL starts a thread for each operation outside a graph, which slows down short ones.
  // Without one they block, as in applications: a call that hangs can only be ended with the
  // process.
  std::optional<std::chrono::nanoseconds> forming_limit = {};
  // Use NCCL's own memory, registered with the communicator (2.19 and later).
  bool registered = false;
  bool diagnose = false;  // test each path between GPUs first (2.31 and later)
  bool bind = false;      // to the CPUs that are local to the GPU
  std::string root;       // of sysfs; empty: /
};

// Returns when all ranks have joined. Keeps NCCL's log, unless the user has set NCCL_DEBUG and
// NCCL_DEBUG_FILE.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_nccl_backend(NcclOptions options);

// An operation on a stream, for callers that run other work on the same GPU at the same time.
class StreamedOperation {
 public:
  StreamedOperation() = default;
  StreamedOperation(const StreamedOperation&) = delete;
  StreamedOperation& operator=(const StreamedOperation&) = delete;
  virtual ~StreamedOperation() = default;

  // Fills the buffers, which must be reserved. The operation must not change its own input.
  [[nodiscard]] virtual Result<void> choose(const Operation& operation) = 0;
  // Enqueues it once.
  [[nodiscard]] virtual Result<void> start() = 0;
  // The error that NCCL has reported since, if any.
  [[nodiscard]] virtual Result<void> healthy() = 0;
  // Waits for the last one and verifies its result, then that of one more on fresh data. Every rank
  // calls it.
  [[nodiscard]] virtual Result<std::vector<Wrong>> wrong() = 0;

  [[nodiscard]] virtual Gpu& gpu() = 0;
  [[nodiscard]] virtual int ordinal() const = 0;  // the driver's number of the GPU
  [[nodiscard]] virtual const cuda::Library& cuda() const = 0;
};

// "2.28.9"; the encoding changed with 2.9.
[[nodiscard]] std::string nccl_version_text(int version);

}  // namespace muster::bench
