// SPDX-License-Identifier: Apache-2.0
// Escaping for HTML and XML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

// Escapes text for use between tags or in a quoted attribute; cuts it after `most` bytes.
[[nodiscard]] std::string escaped(std::string_view raw, std::size_t most = 4096);

}  // namespace muster
