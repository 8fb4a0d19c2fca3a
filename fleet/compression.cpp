// SPDX-License-Identifier: Apache-2.0
#include "fleet/compression.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace muster::fleet {

std::string compressed(std::string_view text) {
  auto size = ::compressBound(text.size());
  std::string bytes(sizeof(std::uint64_t) + size, '\0');
  const std::uint64_t before = text.size();
  std::memcpy(bytes.data(), &before, sizeof before);
  ::compress(reinterpret_cast<Bytef*>(bytes.data()) + sizeof before, &size,
             reinterpret_cast<const Bytef*>(text.data()), text.size());
  bytes.resize(sizeof before + size);
  return bytes;
}

Result<std::string> decompressed(std::string_view bytes) {
  std::uint64_t before = 0;
  constexpr std::uint64_t kLargest = 1UL << 30U;
  if (bytes.size() >= sizeof before) std::memcpy(&before, bytes.data(), sizeof before);
  std::string text(std::min(before, kLargest), '\0');
  ::uLongf size = text.size();
  const auto packed = bytes.substr(std::min(bytes.size(), sizeof before));
  const int code = ::uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (code == Z_OK && size == before) return text;
  return make_error("a compressed document is damaged");
}

}  // namespace muster::fleet
