// SPDX-License-Identifier: Apache-2.0
// Which of the GPUs that a process sees is its own, and which CPUs it runs on: those that are local
// to that.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/base/root.hpp"

namespace muster::bench {

struct Ordinal {
  int ordinal = 0;  // as the driver counts those that are visible
  // "gpu3": as CUDA_VISIBLE_DEVICES numbers them; empty where it names them otherwise, by UUID.
  std::string device_id;

  bool operator==(const Ordinal&) const = default;
};

// `visible` is CUDA_VISIBLE_DEVICES, empty where it is not set. Where it names one GPU, the
// launcher gave this process its own one, and the local rank does not choose.
[[nodiscard]] Result<Ordinal> choose_gpu(int rank, int local_rank, int gpus,
                                         std::string_view visible);

// Binds all threads of this process, and so those that they will start, to the CPUs that sysfs
// calls local to the GPU at this PCI address. A process that may not run on every CPU was bound by
// its launcher, or has a part of the node: it is left alone. What came of it, as a sentence.
[[nodiscard]] std::string bind_to_gpu(std::string_view pci_address, const Root& root);

}  // namespace muster::bench
