// SPDX-License-Identifier: Apache-2.0
// Reads documents from files, folders and standard input: one per file, or one per line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/importer.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

class DocumentSource {
 public:
  // Paths are files, folders of *.json and *.jsonl at any depth, or "-".
  explicit DocumentSource(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // Returns some documents; none at the end.
  [[nodiscard]] std::vector<NamedDocument> next();

  struct Unreadable {
    std::string name, why;
  };

  // Paths that could not be read, and empty files.
  [[nodiscard]] const std::vector<Unreadable>& unreadable() const { return unreadable_; }

 private:
  // A file that is being read.
  struct OpenFile {
    std::string name;
    std::string run;
    Descriptor opened;
    int descriptor = -1;
    std::string buffer;
    std::size_t used = 0;  // of the buffer
    std::size_t line = 0;
    bool by_line = false;
    bool at_end = false;
  };

  void open_next();
  void open_file(const std::filesystem::path& path);
  [[nodiscard]] Result<std::optional<std::string>> next_text();
  [[nodiscard]] Result<std::optional<std::string>> next_line();
  [[nodiscard]] Result<bool> read_more();
  [[nodiscard]] std::string run_of(const std::filesystem::path& file);

  std::vector<std::string> paths_;
  std::size_t next_path_ = 0;
  std::filesystem::recursive_directory_iterator folder_;
  std::optional<OpenFile> file_;
  std::map<std::string, std::string> runs_;  // by folder
  std::vector<Unreadable> unreadable_;
};

}  // namespace muster::fleet
