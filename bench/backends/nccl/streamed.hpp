// SPDX-License-Identifier: Apache-2.0
// An operation on a stream of a GPU, for callers that run other work on that GPU beside it.
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

  // Fills the buffers, which must be reserved. The operation must leave its own input as it is.
  [[nodiscard]] virtual Result<void> choose(const Operation& operation) = 0;
  // Puts it on the stream once, and returns when it is there.
  [[nodiscard]] virtual Result<void> start() = 0;
  // An error if one has come up meanwhile.
  [[nodiscard]] virtual Result<void> healthy() = 0;
  // What is wrong in what the last one left; waits for it.
  [[nodiscard]] virtual Result<std::vector<Wrong>> wrong() = 0;

  [[nodiscard]] virtual Gpu& gpu() = 0;                         // whose stream it is
  [[nodiscard]] virtual int ordinal() const = 0;                // of the GPU, as the driver counts
  [[nodiscard]] virtual const cuda::Library& cuda() const = 0;  // that the GPU was opened by
};

}  // namespace muster::bench
