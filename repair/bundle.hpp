// SPDX-License-Identifier: Apache-2.0
// Writes a tar.gz archive of files in memory.
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

// Compresses one file, like gzip.
[[nodiscard]] std::string gzip(std::string_view content);

// Writes the files below `folder`. The tar format limits a name, with the folder, to 99 bytes. It
// is an error if writing takes until `end`.
[[nodiscard]] Result<void> write_bundle(FileReplacement& file, std::string_view folder,
                                        const std::vector<BundledFile>& files,
                                        std::chrono::sys_seconds modified, Clock::time_point end);

}  // namespace muster::repair
