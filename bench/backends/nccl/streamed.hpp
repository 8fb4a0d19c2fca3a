// SPDX-License-Identifier: Apache-2.0
// An operation on a stream, for callers that run other work on the same GPU at the same time.
#pragma once

#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/collectives/operation.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

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
  // Waits for the last one and verifies its result.
  [[nodiscard]] virtual Result<std::vector<Wrong>> wrong() = 0;

  [[nodiscard]] virtual Gpu& gpu() = 0;
  [[nodiscard]] virtual int ordinal() const = 0;  // the driver's number of the GPU
  [[nodiscard]] virtual const cuda::Library& cuda() const = 0;
};

}  // namespace muster::bench
