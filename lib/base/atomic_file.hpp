// SPDX-License-Identifier: Apache-2.0
// Files that are replaced whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// What is appended goes to a temporary file beside `file`, which is renamed over it at the end.
// What existed stays untouched until then, and when anything fails. Something that is no regular
// file (a pipe, a device) is written to as it is. `mode`, less the umask, is that of a new file; a
// file that exists keeps its own.
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
  // To be called once; nothing may be appended after it.
  [[nodiscard]] Result<void> finish();

 private:
  FileReplacement() = default;

  std::string name_;
  std::string temporary_;  // empty where nothing is to be renamed
  int descriptor_ = -1;
};

// Replaces a file in one go.
[[nodiscard]] Result<void> replace_file(const std::filesystem::path& file, std::string_view content,
                                        unsigned mode);

}  // namespace muster
