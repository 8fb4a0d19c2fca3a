// SPDX-License-Identifier: Apache-2.0
// The kernels that fill and verify, as the driver takes them: kernels.ptx, held by the program.
#pragma once

#include <string_view>

namespace muster::bench {

[[nodiscard]] std::string_view kernels_ptx();

}  // namespace muster::bench
