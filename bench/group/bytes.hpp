// SPDX-License-Identifier: Apache-2.0
// Numbers and texts as bytes, the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

class Writer {
 public:
  Writer& number(std::uint64_t value, unsigned bytes = 8) {
    for (unsigned at = 0; at < bytes; ++at) {
      bytes_.push_back(static_cast<char>((value >> (8U * at)) & 0xffU));
    }
    return *this;
  }

  Writer& raw(std::string_view bytes) {
    bytes_.append(bytes);
    return *this;
  }

  Writer& text(std::string_view text) { return number(text.size(), 4).raw(text); }

  Writer& ranks(const std::vector<int>& ranks) {
    number(ranks.size(), 4);
    for (const int rank : ranks) number(static_cast<std::uint64_t>(rank), 4);
    return *this;
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// What was written, in the same order. Once something is missing, all that follows is empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t number(unsigned bytes = 8) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const char byte : raw(bytes)) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) << shift;
      shift += 8;
    }
    return value;
  }

  [[nodiscard]] std::string_view raw(std::uint64_t count) {
    if (!good_ || count > bytes_.size()) {
      good_ = false;
      return {};
    }
    const auto result = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return result;
  }

  [[nodiscard]] std::string_view text() { return raw(number(4)); }

  [[nodiscard]] std::vector<int> ranks() {
    std::vector<int> result;
    const auto count = number(4);
    for (std::uint64_t at = 0; good_ && at < count; ++at) {
      result.push_back(static_cast<int>(number(4)));
    }
    return result;
  }

  // Everything was there, and nothing is left.
  [[nodiscard]] bool complete() const { return good_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace muster::bench
