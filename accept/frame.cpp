// SPDX-License-Identifier: Apache-2.0
#include "accept/frame.hpp"

#include <fmt/format.h>

#include "lib/base/digest.hpp"
#include "lib/base/text.hpp"

namespace muster::accept {
std::string frame(std::string_view node, std::string_view content) {
  return fmt::format("{} {} {} {} {}\n", kFrameWord, node, content.size(), sha256_of(content),
                     to_base64(content));
}

Result<std::string> unframe(std::string_view node, std::string_view output) {
  Error error{.message = "its output has no answer from muster", .missing = true};
  const auto lines = split_lines(output);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const auto begin = line->find(fmt::format("{} ", kFrameWord));
    if (begin == std::string_view::npos) continue;
    const auto words = split_words(line->substr(begin));
    if (words.size() < 2 || words[1] != node) continue;
    error = {.message = "the answer was cut off or damaged in transit"};
    const auto length = words.size() == 5 ? parse_unsigned(words[2]) : make_error("");
    if (!length || *length > words[4].size()) continue;
    auto content = from_base64(words[4], *length);
    if (sha256_of(content) == words[3]) return content;
  }
  return tl::unexpected(std::move(error));
}

}  // namespace muster::accept
