// SPDX-License-Identifier: Apache-2.0
// What the amdgpu driver tells of one GPU in the folder of its PCI device.
#pragma once

#include <string_view>

#include "lib/base/root.hpp"
#include "lib/node/pci.hpp"

namespace muster {

[[nodiscard]] AmdGpu read_amd_gpu(const Root& root, std::string_view address);

}  // namespace muster
