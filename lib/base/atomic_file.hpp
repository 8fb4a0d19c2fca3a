// SPDX-License-Identifier: Apache-2.0
// Files that are replaced whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// Writes `content` to a temporary file beside `file`, then renames it over `file`. What existed
// stays untouched when anything fails. Something that is no regular file (a pipe, /dev/stdout) is
// written to as it is. `mode`, less the umask, is that of a new file; a file that exists keeps its own.
[[nodiscard]] Result<void> replace_file(const std::filesystem::path& file,
                                        std::string_view content,
                                        unsigned mode);

}  // namespace muster
