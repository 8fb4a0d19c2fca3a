// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/memory.hpp"

#include <fmt/format.h>

#include <limits>

#include "lib/base/text.hpp"

namespace muster {

Result<std::uint64_t> parse_meminfo(std::string_view text, std::string_view key) {
  constexpr std::uint64_t kKib = 1024;
  for (const auto line : split_lines(text)) {
    auto words = split_words(line);
    if (words.size() > 2 && words[0] == "Node") words.erase(words.begin(), words.begin() + 2);
    if (words.empty() || !words[0].ends_with(':')) continue;
    if (words[0].substr(0, words[0].size() - 1) != key) continue;
    const auto number = words.size() == 3 && words[2] == "kB"
                            ? parse_unsigned(words[1])
                            : Result<std::uint64_t>(make_error(""));
    if (!number || *number > std::numeric_limits<std::uint64_t>::max() / kKib) {
      return make_error(
          fmt::format("meminfo: {} is no number of kB: \"{}\"", key, printable(line, 60)));
    }
    return *number * kKib;
  }
  return make_missing(fmt::format("meminfo has no {}", key));
}

}  // namespace muster
