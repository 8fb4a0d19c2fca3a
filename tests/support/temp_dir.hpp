// SPDX-License-Identifier: Apache-2.0
// A temporary directory for a test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster {

class TempDir {
 public:
  TempDir();
  // Inside `parent`, such as /tmp, if files in memory are not visible to all involved processes.
  explicit TempDir(const std::filesystem::path& parent);
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // The path of a file in it.
  [[nodiscard]] std::string path(std::string_view relative) const {
    return (path_ / relative).string();
  }

  // Paths are relative to the directory. Creates parents and replaces existing files.
  void write(std::string_view relative, std::string_view content) const;
  void write_program(std::string_view relative, std::string_view content) const;
  void link(std::string_view relative, std::string_view target) const;
  void remove(std::string_view relative) const;
  // The content of a file; empty if there is none.
  [[nodiscard]] std::string read(std::string_view relative) const;

 private:
  std::filesystem::path path_;
};

}  // namespace muster
