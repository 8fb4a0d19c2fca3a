// SPDX-License-Identifier: Apache-2.0
// A directory tree held in memory: what a written node is before it is written. Two trees can be
// compared, and a directory can be changed from one to the other without writing the rest again.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::nodes {

struct Entry {
  enum class Kind { file, link, directory, fifo };
  Kind kind = Kind::file;
  std::string content;  // of a file; of a link: where it leads, from its own directory or from /
  bool executable = false;

  bool operator==(const Entry&) const = default;
};

// Paths are relative to the node's root, without a leading slash: "sys/class/net". Parents need not
// be named. A file, link or pipe replaces what was at or below its path; a directory keeps it.
class Tree {
 public:
  void file(std::string_view path, std::string content);
  void program(std::string_view path);
  void directory(std::string_view path);
  // A relative link at `path` to `target`, which is written as a path of the tree. The target need
  // not exist.
  void link(std::string_view path, std::string_view target);
  // A link that leads out of the tree.
  void link_outside(std::string_view path, std::string absolute);
  // A pipe that nobody writes to: reading it never ends.
  void fifo(std::string_view path);
  // With all that lies below.
  void remove(std::string_view path);

  // The file or link at `path`, not followed; null when there is none.
  [[nodiscard]] const Entry* find(std::string_view path) const;
  // The content of the file at `path`, or empty.
  [[nodiscard]] std::string_view content(std::string_view path) const;
  [[nodiscard]] std::vector<std::string> files() const;

  [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }

  bool operator==(const Tree&) const = default;

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

// Writes the whole tree into `directory`, which is made. False when anything could not be written.
[[nodiscard]] bool write_tree(const Tree& tree, const std::filesystem::path& directory);

// Turns `directory`, which holds `before`, into `after`.
[[nodiscard]] bool change_tree(const Tree& before, const Tree& after,
                               const std::filesystem::path& directory);

}  // namespace muster::nodes
