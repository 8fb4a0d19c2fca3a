// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/random.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace muster::bench {

Result<std::string> random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  const auto drawn = ::getrandom(bytes.data(), bytes.size(), 0);
  if (drawn == static_cast<ssize_t>(count)) return bytes;
  return make_error(fmt::format("draw random bytes: {}", std::strerror(errno)));
}

Result<std::string> random_secret() {
  constexpr std::size_t kBytes = 32;
  auto bytes = random_bytes(kBytes);
  if (!bytes) return bytes;
  std::string secret;
  for (const char byte : *bytes) secret += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return secret;
}

}  // namespace muster::bench
