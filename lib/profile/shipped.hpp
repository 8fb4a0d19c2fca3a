// SPDX-License-Identifier: Apache-2.0
// The YAML that the program carries: configs/profiles/*.yaml and configs/xids.yaml as they were
// when it was built.
#pragma once

#include <span>
#include <string_view>

namespace muster {

struct ShippedFile {
  std::string_view name;    // below configs: "profiles/nd96isr_h100_v5.yaml", "xids.yaml"
  std::string_view text;    // its bytes
  std::string_view packed;  // the document, for unpack_yaml
};

// Sorted by name. The source file of this is made by embed_yaml.
[[nodiscard]] std::span<const ShippedFile> shipped_files();

}  // namespace muster
