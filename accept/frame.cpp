// SPDX-License-Identifier: Apache-2.0
#include "accept/frame.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "lib/base/digest.hpp"
#include "lib/base/text.hpp"

namespace muster::accept {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  // cppcheck-suppress returnDanglingLifetime; the view does not own its text
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string to_base64(std::string_view content) {
  std::string text((content.size() + 2) / 3 * 4 + 1, '\0');  // EVP adds a zero byte
  const int size =
      ::EVP_EncodeBlock(bytes_of(text), bytes_of(content), static_cast<int>(content.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// Decodes Base64. Bytes beyond `length` are padding. Returns nothing if it is not Base64 of that
// length.
std::string from_base64(std::string_view text, std::size_t length) {
  if (text.size() != (length + 2) / 3 * 4) return {};
  std::string content(text.size() / 4 * 3, '\0');
  const int size =
      ::EVP_DecodeBlock(bytes_of(content), bytes_of(text), static_cast<int>(text.size()));
  if (size < 0) return {};
  content.resize(length);
  return content;
}

}  // namespace

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
