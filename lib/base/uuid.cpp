// SPDX-License-Identifier: Apache-2.0

#include "lib/base/uuid.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <random>

namespace muster {

// RFC 9562: 48 bits of time in milliseconds, then random bits.
std::string make_uuid() {
  std::random_device random;
  const auto word = [&] { return static_cast<std::uint64_t>(random()); };
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto time = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  return fmt::format("{:08x}-{:04x}-7{:03x}-{:04x}-{:04x}{:08x}", time >> 16U, time & 0xffffU,
                     word() & 0xfffU, 0x8000U | (word() & 0x3fffU), word() & 0xffffU,
                     word() & 0xffffffffU);
}

}  // namespace muster
