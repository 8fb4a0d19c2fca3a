// SPDX-License-Identifier: Apache-2.0
// A node is its kind, its line, and what it holds behind a count: a scalar's bytes, a sequence's
// nodes, a mapping's keys with the line of each and how many bytes its value takes.
#include "lib/profile/yaml_pack.hpp"

#include <algorithm>
#include <cstdint>

namespace muster {
namespace {

constexpr unsigned kBitsOfByte = 7;
constexpr std::uint8_t kMore = 0x80;

// Seven bits a byte, the lowest first; the highest bit says that more follow.
void append(std::string& out, std::size_t number) {
  for (; number >= kMore; number >>= kBitsOfByte) {
    out.push_back(static_cast<char>(static_cast<std::uint8_t>(number) | kMore));
  }
  out.push_back(static_cast<char>(number));
}

void append(std::string& out, std::string_view text) {
  append(out, text.size());
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view packed) : rest_(packed) {}

  [[nodiscard]] std::size_t number() {
    std::size_t result = 0;
    for (unsigned shift = 0;; shift += kBitsOfByte) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      result |= static_cast<std::size_t>(byte & (kMore - 1U)) << shift;
      if (byte < kMore) return result;
    }
  }

  [[nodiscard]] std::string_view text() {
    const auto size = number();
    const auto result = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return result;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, which is limited where it is read
  [[nodiscard]] Yaml node(const std::vector<std::string_view>& keys) {
    Yaml result;
    result.kind = static_cast<Yaml::Kind>(number());
    result.line = static_cast<int>(number());
    if (result.kind == Yaml::Kind::scalar) result.text = text();
    if (result.kind == Yaml::Kind::sequence) {
      const auto count = number();
      result.items.reserve(count);
      for (std::size_t i = 0; i < count; ++i) result.items.push_back(node({}));
    }
    if (result.kind == Yaml::Kind::mapping) read_entries(result, keys);
    return result;
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  void read_entries(Yaml& mapping, const std::vector<std::string_view>& keys) {
    const auto count = number();
    mapping.entries.reserve(keys.empty() ? count : keys.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto key = text();
      const auto line = static_cast<int>(number());
      const auto value = text();
      if (!keys.empty() && std::ranges::count(keys, key) == 0) continue;
      mapping.entries.push_back({std::string(key), line, Reader(value).node({})});
    }
  }

  std::string_view rest_;
};

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, which is limited where it is read
std::string pack_yaml(const Yaml& tree) {
  std::string out;
  append(out, static_cast<std::size_t>(tree.kind));
  append(out, static_cast<std::size_t>(tree.line));
  if (tree.kind == Yaml::Kind::scalar) append(out, tree.text);
  if (tree.kind == Yaml::Kind::sequence) {
    append(out, tree.items.size());
    for (const auto& item : tree.items) out += pack_yaml(item);
  }
  if (tree.kind == Yaml::Kind::mapping) {
    append(out, tree.entries.size());
    for (const auto& [key, line, value] : tree.entries) {
      append(out, key);
      append(out, static_cast<std::size_t>(line));
      append(out, pack_yaml(value));
    }
  }
  return out;
}

Yaml unpack_yaml(std::string_view packed, const std::vector<std::string_view>& keys) {
  return Reader(packed).node(keys);
}

}  // namespace muster
