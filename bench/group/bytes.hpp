// SPDX-License-Identifier: Apache-2.0
// Numbers and texts as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

class Writer {
 public:
  template <class Number>
  Writer& number(const Number& value, unsigned bytes = 8) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (unsigned at = 0; at < bytes; ++at) {
      bytes_.push_back(static_cast<char>((bits >> (8U * at)) & 0xffU));
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
    for (const int rank : ranks) number(rank, 4);
    return *this;
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what a Writer has written, in the same order. After an error all results are empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  Reader& number(Number& value, unsigned bytes = 8) {
    std::uint64_t bits = 0;
    unsigned shift = 0;
    for (const char byte : take(bytes)) {
      bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) << shift;
      shift += 8;
    }
    value = static_cast<Number>(bits);
    return *this;
  }

  Reader& raw(std::string& bytes, std::size_t size) {
    bytes = take(size);
    return *this;
  }

  Reader& text(std::string& text) {
    std::uint64_t size = 0;
    number(size, 4);
    return raw(text, size);
  }

  Reader& ranks(std::vector<int>& ranks) {
    std::uint64_t count = 0;
    number(count, 4);
    for (ranks.clear(); good_ && ranks.size() < count;) number(ranks.emplace_back(), 4);
    return *this;
  }

  // Whether all bytes were read, and none was missing.
  [[nodiscard]] bool complete() const { return good_ && bytes_.empty(); }

 private:
  [[nodiscard]] std::string_view take(std::uint64_t count) {
    if (!good_ || count > bytes_.size()) {
      good_ = false;
      return {};
    }
    const auto result = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return result;
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace muster::bench
