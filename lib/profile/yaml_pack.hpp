// SPDX-License-Identifier: Apache-2.0
// The form in which the program carries YAML that was read when it was built: unpacking it costs a
// small part of parsing, and what nobody asks for is passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/yaml.hpp"

namespace muster {

// The tree with all its lines, in bytes that unpack_yaml of the same build understands.
[[nodiscard]] std::string pack_yaml(const Yaml& tree);

// What pack_yaml packed. With `keys`, only these of the top-level keys; all where there are none.
[[nodiscard]] Yaml unpack_yaml(std::string_view packed,
                               const std::vector<std::string_view>& keys = {});

}  // namespace muster
