// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own that goes away with it, and short ways to put files into it.
#pragma once

#include <filesystem>
#include <string_view>

namespace muster {

class TempDir {
 public:
  TempDir();
  // In this folder, such as /tmp: where files in memory are not shared with all whom it concerns.
  explicit TempDir(const std::filesystem::path& parent);
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Paths are relative to the directory; parents are made; an existing file or link is replaced.
  void write(std::string_view relative, std::string_view content) const;
  void link(std::string_view relative, std::string_view target) const;
  void remove(std::string_view relative) const;

 private:
  std::filesystem::path path_;
};

}  // namespace muster
