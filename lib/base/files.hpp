// SPDX-License-Identifier: Apache-2.0
// Files that muster reads at once, and those that it writes: replaced atomically, and in places
// that other users cannot change.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster {

// Reads an open file to its end; an error for more than `most` bytes, and for a FIFO or device,
// whose end may never come. Open it with O_NONBLOCK.
[[nodiscard]] Result<std::string> read_file(const Descriptor& file, std::string_view path,
                                            std::size_t most);

// Reads a file that a user named, which may be a pipe; "-" is standard input.
inline constexpr std::string_view kStandardInput = "-";
[[nodiscard]] Result<std::string> read_named(const std::string& file);

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

  // Instead of an existing file's mode. Not for a pipe or device.
  [[nodiscard]] Result<void> set_mode(unsigned mode);
  [[nodiscard]] Result<void> append(std::string_view content);
  // Waits until the content is on the disk. Before finish(), a file that survives a power failure
  // is then complete.
  [[nodiscard]] Result<void> sync();
  // Call this once, at the end.
  [[nodiscard]] Result<void> finish();

 private:
  FileReplacement() = default;

  std::string name_;
  std::string temporary_;  // empty if nothing is to be renamed
  int descriptor_ = -1;
};

[[nodiscard]] Result<void> replace_file(const std::filesystem::path& file, std::string_view content,
                                        unsigned mode);

// An error if others_link() finds a link in `path`.
[[nodiscard]] Result<void> check_no_others_link(const std::filesystem::path& path);

// An error, with a remedy, if users other than this one and root can create files in `folder`, or
// made a link to it. A folder that does not exist is fine.
[[nodiscard]] Result<void> check_own_folder(const std::filesystem::path& folder);

// An error if `file` is a link, or belongs to neither this user nor root. A file that does not
// exist is fine.
[[nodiscard]] Result<void> check_own_file(const std::filesystem::path& file);

// The first link in `path`, or `path` itself, that belongs to neither this user nor root; empty if
// there is none before the first component that does not exist.
[[nodiscard]] std::filesystem::path others_link(const std::filesystem::path& path);

}  // namespace muster
