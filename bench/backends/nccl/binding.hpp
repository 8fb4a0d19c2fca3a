// SPDX-License-Identifier: Apache-2.0
// Counts the GPUs, chooses that of a process, and binds it to the CPUs that are local to that GPU.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/base/root.hpp"

namespace muster::bench {

// The number of GPUs that this process could use. A child process asks the driver, since a process
// that has done so must not fork. The error is `missing` if there is no driver.
[[nodiscard]] Result<int> usable_gpus(const std::string& cuda_file);

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
