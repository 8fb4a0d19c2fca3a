// SPDX-License-Identifier: Apache-2.0
// The YAML that the program carries: configs/profiles/*.yaml and configs/xids.yaml, parsed when it
// was built. Parsing them in every run would double the time of a check.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "lib/profile/yaml.hpp"

namespace muster {

// A node of a YAML tree, followed by the nodes below it.
struct ShippedNode {
  Yaml::Kind kind = Yaml::Kind::null;
  int line = 0;
  std::size_t size = 1;  // number of nodes in this subtree
  std::string_view text;
  std::string_view key;  // in a mapping
  int key_line = 0;
};

struct ShippedFile {
  std::string_view name;  // below configs: "profiles/nd96isr_h100_v5.yaml", "xids.yaml"
  std::string_view text;
  std::span<const ShippedNode> nodes;
};

// Sorted by name. embed_yaml generates the definition.
[[nodiscard]] std::span<const ShippedFile> shipped_files();

}  // namespace muster
