// SPDX-License-Identifier: Apache-2.0
// The kernels of the tests of GPUs, as the driver takes them: kernels.ptx, held by the program.
#pragma once

#include <string_view>

namespace muster::bench::node {

[[nodiscard]] std::string_view kernels_ptx();

}  // namespace muster::bench::node
