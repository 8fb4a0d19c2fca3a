// SPDX-License-Identifier: Apache-2.0
// Random bytes that nobody can guess: secrets, and what is used once.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/result.hpp"

namespace muster::bench {

[[nodiscard]] Result<std::string> random_bytes(std::size_t count);

// A secret of 32 random bytes, in hexadecimal digits.
[[nodiscard]] Result<std::string> random_secret();

}  // namespace muster::bench
