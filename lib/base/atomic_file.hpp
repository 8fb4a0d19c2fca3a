// SPDX-License-Identifier: Apache-2.0
// Replaces files atomically.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// Writes to a temporary file in the same folder and renames it at the end. Until then, and on
// failure, the existing file stays untouched. A pipe or device is written to directly. `mode`,
// before the umask, is for a new file; an existing file keeps its mode.
class FileReplacement {
 public:
  [[nodiscard]] static Result<FileReplacement> begin(const std::filesystem::path& file,
                                                     unsigned mode);

  FileReplacement(FileReplacement&& other) noexcept;
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  FileReplacement& operator=(FileReplacement&&) = delete;
  ~FileReplacement();

  [[nodiscard]] Result<void> append(std::string_view content);
  // To be called once, at the end.
  [[nodiscard]] Result<void> finish();

 private:
  FileReplacement() = default;

  std::string name_;
  std::string temporary_;  // empty if nothing is to be renamed
  int descriptor_ = -1;
};

[[nodiscard]] Result<void> replace_file(const std::filesystem::path& file, std::string_view content,
                                        unsigned mode);

}  // namespace muster
