// SPDX-License-Identifier: Apache-2.0
// Checksums, and binary data as text.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

using Sha256 = std::array<unsigned char, 32>;

[[nodiscard]] Sha256 sha256_bytes(std::string_view content);

// In hexadecimal digits.
[[nodiscard]] std::string sha256_of(std::string_view content);

[[nodiscard]] std::string to_base64(std::string_view content);

// Bytes beyond `length` are padding. Returns nothing if the text is not Base64 of that length.
[[nodiscard]] std::string from_base64(std::string_view text, std::size_t length);

}  // namespace muster
