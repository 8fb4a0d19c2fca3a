// SPDX-License-Identifier: Apache-2.0
// Lines of proc/mounts: "server:/export /data\040set nfs4 rw,hard 0 0".
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/node/mounts.hpp"

namespace muster {

// A mount without its space. Blanks within a name, which the kernel writes as \040, are restored.
[[nodiscard]] Result<Mount> parse_mount(std::string_view line);

// Three octal digits after a backslash; the kernel writes \011, \012, \040, \043 and \134.
[[nodiscard]] std::string unescape_mount(std::string_view text);

// File systems that only show the kernel's state, and autofs, whose mount points nobody may touch.
[[nodiscard]] bool holds_data(std::string_view type);

}  // namespace muster
