// SPDX-License-Identifier: Apache-2.0
// A directory tree held in memory: a simulated node before it is written. Two trees can be
// compared, and a directory can be changed from one to the other without rewriting the rest.
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
  // content of a file, or target of a link, relative to its directory or absolute
  std::string content;
  bool executable = false;

  bool operator==(const Entry&) const = default;
};

// Paths are relative to the node's root, without a leading slash: "sys/class/net". Parents need not
// be added. A file, link or pipe replaces everything at or below its path; a directory keeps it.
class Tree {
 public:
  void file(std::string_view path, std::string content);
  void program(std::string_view path);
  void directory(std::string_view path);
  // Adds a relative link at `path` to `target`, which is a path of the tree and need not exist.
  void link(std::string_view path, std::string_view target);
  // Adds a link to a place outside the tree.
  void link_outside(std::string_view path, std::string absolute);
  // Adds a pipe without a writer: reading it never ends.
  void fifo(std::string_view path);
  // Removes `path` and everything below it.
  void remove(std::string_view path);

  // The file or link at `path`, not followed; null if there is none.
  [[nodiscard]] const Entry* find(std::string_view path) const;
  // The content of the file at `path`, or empty.
  [[nodiscard]] std::string_view content(std::string_view path) const;
  [[nodiscard]] std::vector<std::string> files() const;

  [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }

  bool operator==(const Tree&) const = default;

 private:
  void put(std::string_view path, Entry entry);

  std::map<std::string, Entry, std::less<>> entries_;
};

// Writes the whole tree into `directory`, which is created. Returns false if anything could not be
// written.
[[nodiscard]] bool write_tree(const Tree& tree, const std::filesystem::path& directory);

// Changes `directory` from `before` to `after`.
[[nodiscard]] bool change_tree(const Tree& before, const Tree& after,
                               const std::filesystem::path& directory);

}  // namespace muster::nodes
