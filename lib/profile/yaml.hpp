// SPDX-License-Identifier: Apache-2.0
// A YAML document as a plain tree with line numbers; only yaml.cpp uses yaml-cpp. Stricter than
// YAML: keys are text and unique, there is one document, and tags are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

struct YamlEntry;

struct Yaml {
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  int line = 0;                    // from 1; 0 if unknown
  std::string text;                // of a scalar, without its quotes
  std::vector<Yaml> items;         // of a sequence
  std::vector<YamlEntry> entries;  // of a mapping, in file order

  // The value at `key` of a mapping, or null.
  [[nodiscard]] const Yaml* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  int line = 0;
  Yaml value;
};

// "profiles/x.yaml:12", or the file alone if the line is 0.
[[nodiscard]] std::string at(std::string_view file, int line);

// The end of an error about an unknown word: "did you mean 'total'?", or the known words if none is
// similar.
[[nodiscard]] std::string hint(std::string_view word, const std::vector<std::string>& known);

// `file` is the name of the text in errors. An empty document is null.
[[nodiscard]] Result<Yaml> parse_yaml(std::string_view text, std::string_view file);

// Reads a regular file of at most 256 KiB. The error is `missing` if the file does not exist.
[[nodiscard]] Result<std::string> read_yaml_text(const std::filesystem::path& path);

// A word of the shipped files: a part of shipped_words(). Without pointers, so that the trees need
// no relocations when a program starts.
struct ShippedWord {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};

// A node of a YAML tree, followed by the nodes below it.
struct ShippedNode {
  Yaml::Kind kind = Yaml::Kind::null;
  int line = 0;
  std::uint32_t size = 1;  // number of nodes in this subtree
  ShippedWord text;
  ShippedWord key;  // in a mapping
  int key_line = 0;
};

struct ShippedFile {
  std::string_view name;  // below configs: "profiles/nd96isr_h100_v5.yaml", "xids.yaml"
  std::string_view text;
  std::span<const ShippedNode> nodes;
};

// Sorted by name. embed_yaml generates the definition.
[[nodiscard]] std::span<const ShippedFile> shipped_files();
[[nodiscard]] std::string_view shipped_words();

}  // namespace muster
