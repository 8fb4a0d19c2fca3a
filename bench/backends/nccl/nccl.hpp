// SPDX-License-Identifier: Apache-2.0
// The back end that runs NCCL on this process' GPU.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/backends/backend.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct NcclOptions {
  std::string cuda;  // the file of libcuda.so.1; empty: found by its name
  std::string nccl;  // the file of libnccl.so.2; likewise
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  std::string host;
  // Gives every rank the text of rank 0; the others' own text does not count.
  std::function<Result<std::string>(std::string_view)> broadcast;
  // Whether NCCL's calls block: then only the end of the process helps against a hang in one. If
  // they do not, they return before they are done, errors are seen while NCCL begins, and a hang
  // can be given up; but NCCL starts a thread for each operation that is not part of a graph, which
  // slows short ones down.
  bool blocking = false;
  // How long the ranks may take to form their communicator. Where it has not formed by then, the
  // back end is made all the same, and each operation fails. Calls that form it do not block then.
  // Empty: as long as it takes.
  std::optional<std::chrono::nanoseconds> forming_limit = {};
  // Buffers are NCCL's memory, which is registered with the communicator: from 2.19 on.
  bool registered = false;
  bool diagnose = false;  // each path between GPUs, before it is used: from 2.31 on
  bool bind = false;      // to the CPUs that are local to the GPU
  std::string root;  // in place of the machine's own, for what sysfs says of it; empty: its own
  bool log = true;   // keep NCCL's log, unless the user has set NCCL_DEBUG and NCCL_DEBUG_FILE
};

// How many GPUs this process could use, or why none: the driver is asked, in a child process, since
// a process that has asked must not fork any more. `missing` where there is no driver.
[[nodiscard]] Result<int> usable_gpus(const std::string& cuda_file);

// Returns when all ranks are there.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_nccl_backend(NcclOptions options);

// "2.28.9"; versions before 2.9 count their parts otherwise.
[[nodiscard]] std::string nccl_version_text(int version);

}  // namespace muster::bench
