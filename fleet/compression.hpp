// SPDX-License-Identifier: Apache-2.0
// Documents as the store keeps them: compressed by zlib, with the size in front.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster::fleet {

[[nodiscard]] std::string compressed(std::string_view text);
[[nodiscard]] Result<std::string> decompressed(std::string_view bytes);

}  // namespace muster::fleet
