// SPDX-License-Identifier: Apache-2.0
// Checksums of files.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// In hexadecimal digits.
[[nodiscard]] std::string sha256_of(std::string_view content);

}  // namespace muster
