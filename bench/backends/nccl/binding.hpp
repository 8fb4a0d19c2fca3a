// SPDX-License-Identifier: Apache-2.0
// Which CPUs a rank runs on: those that are local to its GPU.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/root.hpp"

namespace muster::bench {

// Binds all threads of this process, and so those that they will start, to the CPUs that sysfs
// calls local to the GPU at this PCI address. A process that may not run on every CPU was bound by
// its launcher, or has a part of the node: it is left alone. What came of it, as a sentence.
[[nodiscard]] std::string bind_to_gpu(std::string_view pci_address, const Root& root);

}  // namespace muster::bench
