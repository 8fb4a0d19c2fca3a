// SPDX-License-Identifier: Apache-2.0
// The CPUs and GPUs of a process: counts the GPUs, chooses one, and binds the process to the CPUs
// that are local to it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/base/root.hpp"

namespace muster::bench {

// The number of GPUs that this process could use. A child process asks the driver, since a process
// that has done so must not fork. Without a driver the error is `missing`.
[[nodiscard]] Result<int> usable_gpus(const std::string& cuda_file);

// The CPUs that the calling thread may run on, ascending.
[[nodiscard]] Result<std::vector<unsigned>> own_cpus();
// 0 is the calling thread.
[[nodiscard]] Result<void> bind_thread(pid_t thread, const std::vector<unsigned>& cpus);

struct Ordinal {
  int ordinal = 0;  // among the visible GPUs
  // "gpu3", by the number in CUDA_VISIBLE_DEVICES; empty if that holds UUIDs.
  std::string device_id;

  bool operator==(const Ordinal&) const = default;
};

// `visible` is CUDA_VISIBLE_DEVICES. If it names one GPU, the launcher has chosen it, and the local
// rank is ignored.
[[nodiscard]] Result<Ordinal> choose_gpu(int rank, int local_rank, int gpus,
                                         std::string_view visible);

// Binds all threads of this process to the CPUs that sysfs lists as local to the GPU. A process
// that may not run on every CPU was bound by its launcher and is left alone. Returns a remark.
[[nodiscard]] std::string bind_to_gpu(std::string_view pci_address, const Root& root);

}  // namespace muster::bench
