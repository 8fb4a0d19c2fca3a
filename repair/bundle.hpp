// SPDX-License-Identifier: Apache-2.0
// A tar.gz of files that are in memory.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/files.hpp"
#include "lib/base/result.hpp"

namespace muster::repair {

struct BundledFile {
  std::string name;
  std::string content;
};

// One file, as gzip does.
[[nodiscard]] std::string gzip(std::string_view content);

// Writes the files below `folder`, by an archive's rules a name of at most 99 bytes with it. An
// error if that takes until `end`.
[[nodiscard]] Result<void> write_bundle(FileReplacement& file, std::string_view folder,
                                        const std::vector<BundledFile>& files,
                                        std::chrono::sys_seconds modified, Clock::time_point end);

}  // namespace muster::repair
