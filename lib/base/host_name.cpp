// SPDX-License-Identifier: Apache-2.0
#include "lib/base/host_name.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "lib/base/text.hpp"

namespace muster {

std::string host_name() {
  constexpr std::size_t kLongest = 64;  // also the kernel's limit
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the environment is changed before threads start
  const char* given = std::getenv("MUSTER_HOSTNAME");
  if (given != nullptr && *given != '\0') return printable(given, kLongest);
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "this-node";
  return printable(name.data(), kLongest);
}

bool is_host_name(std::string_view text) {
  constexpr std::size_t kLongestWithDomain = 253;
  constexpr std::string_view kCharacters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= kLongestWithDomain && text[0] != '.' && text[0] != '-' &&
         text.find_first_not_of(kCharacters) == std::string_view::npos;
}

}  // namespace muster
