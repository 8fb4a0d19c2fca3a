// SPDX-License-Identifier: Apache-2.0
// A YAML document as a plain tree with line numbers. Everything that knows yaml-cpp is behind it.
// Stricter than YAML: no key twice, no aliases, no tags, one document, keys are text.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

struct YamlEntry;

struct Yaml {
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  int line = 0;                    // from 1; 0 where there is none
  std::string text;                // of a scalar, without its quotes
  std::vector<Yaml> items;         // of a sequence
  std::vector<YamlEntry> entries;  // of a mapping, as written

  // The value at `key` of a mapping, or none.
  [[nodiscard]] const Yaml* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  int line = 0;
  Yaml value;
};

// "profiles/x.yaml:12", or the file alone where there is no line.
[[nodiscard]] std::string at(std::string_view file, int line);

// `file` is what errors call the text. An empty document is null.
[[nodiscard]] Result<Yaml> parse_yaml(std::string_view text, std::string_view file);

// A regular file of at most 256 KiB. The error is `missing` when it does not exist.
[[nodiscard]] Result<std::string> read_yaml_text(const std::filesystem::path& path);

}  // namespace muster
