// SPDX-License-Identifier: Apache-2.0
// Facts about one GPU that the amdgpu driver provides in the folder of its PCI device.
#pragma once

#include <string_view>

#include "lib/base/root.hpp"
#include "lib/node/devices.hpp"

namespace muster {

[[nodiscard]] AmdGpu read_amd_gpu(const Root& root, std::string_view address);

}  // namespace muster
