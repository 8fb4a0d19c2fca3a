// SPDX-License-Identifier: Apache-2.0
#include "lib/base/digest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>

namespace muster {

std::string sha256_of(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  ::EVP_Digest(content.data(), content.size(), digest.data(), &size, ::EVP_sha256(), nullptr);
  return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + size, ""));
}

}  // namespace muster
