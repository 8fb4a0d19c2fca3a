// SPDX-License-Identifier: Apache-2.0
// What the formats that are markup have in common. Inside lib/report only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

// The text for XML and HTML, between tags or in a quoted attribute; at most so many bytes of it.
[[nodiscard]] std::string escaped(std::string_view raw, std::size_t most = 4096);

}  // namespace muster
