// SPDX-License-Identifier: Apache-2.0
// The tree in memory, and writing it. A node has some ten thousand files, so each costs one open,
// one write and one close, and every directory is made once.
#include "tests/nodes/tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace muster::nodes {
namespace {

namespace fs = std::filesystem;

bool lies_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// "../../devices/x" for a link in sys/class/net to sys/devices/x.
std::string relative_to(std::string_view link, std::string_view target) {
  std::size_t common = 0;
  for (std::size_t i = 0; i < std::min(link.size(), target.size()) && link[i] == target[i]; ++i) {
    if (link[i] == '/') common = i + 1;
  }
  std::string result;
  for (const char c : link.substr(common)) {
    if (c == '/') result.append("../");
  }
  return result.append(target.substr(common));
}

class Writer {
 public:
  explicit Writer(fs::path directory) : directory_(std::move(directory)) {}

  bool write(std::string_view path, const Entry& entry) {
    const std::string full = fmt::format("{}/{}", directory_.native(), path);
    if (entry.kind == Entry::Kind::directory) return make_directory(full);
    const std::size_t slash = full.rfind('/');
    if (!make_directory(full.substr(0, slash))) return false;
    switch (entry.kind) {
      case Entry::Kind::link:
        return ::symlink(entry.content.c_str(), full.c_str()) == 0;
      case Entry::Kind::fifo:
        return ::mkfifo(full.c_str(), 0644) == 0;
      default:
        return write_file(full, entry);
    }
  }

 private:
  bool make_directory(const std::string& path) {
    if (!made_.insert(path).second) return true;
    std::error_code failed;
    fs::create_directories(path, failed);
    return !failed;
  }

  static bool write_file(const std::string& path, const Entry& entry) {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    const int file = ::open(path.c_str(), flags, entry.executable ? 0755 : 0644);
    if (file < 0) return false;
    const ssize_t written = ::write(file, entry.content.data(), entry.content.size());
    const bool closed = ::close(file) == 0;
    return closed && written == static_cast<ssize_t>(entry.content.size());
  }

  fs::path directory_;
  std::unordered_set<std::string> made_;
};

}  // namespace

void Tree::put(std::string_view path, Entry entry) {
  remove(path);
  entries_.emplace(path, std::move(entry));
}

void Tree::file(std::string_view path, std::string content) {
  put(path, {.kind = Entry::Kind::file, .content = std::move(content)});
}

void Tree::program(std::string_view path) {
  put(path, {.kind = Entry::Kind::file, .content = "#!/bin/true\n", .executable = true});
}

void Tree::directory(std::string_view path) {
  entries_.insert_or_assign(std::string(path), Entry{.kind = Entry::Kind::directory});
}

void Tree::link(std::string_view path, std::string_view target) {
  link_outside(path, relative_to(path, target));
}

void Tree::link_outside(std::string_view path, std::string absolute) {
  put(path, {.kind = Entry::Kind::link, .content = std::move(absolute)});
}

void Tree::fifo(std::string_view path) { put(path, {.kind = Entry::Kind::fifo}); }

void Tree::remove(std::string_view path) {
  auto here = entries_.lower_bound(path);
  while (here != entries_.end() && here->first.starts_with(path)) {
    const auto next = std::next(here);
    if (here->first == path || lies_below(here->first, path)) entries_.erase(here);
    here = next;
  }
}

const Entry* Tree::find(std::string_view path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string_view Tree::content(std::string_view path) const {
  const Entry* entry = find(path);
  return entry == nullptr ? std::string_view() : std::string_view(entry->content);
}

std::vector<std::string> Tree::files() const {
  std::vector<std::string> result;
  for (const auto& [path, entry] : entries_) {
    if (entry.kind == Entry::Kind::file) result.push_back(path);
  }
  return result;
}

bool write_tree(const Tree& tree, const fs::path& directory) {
  Writer writer(directory);
  if (!writer.write(".", Entry{.kind = Entry::Kind::directory})) return false;
  return std::ranges::all_of(
      tree.entries(), [&](const auto& named) { return writer.write(named.first, named.second); });
}

bool change_tree(const Tree& before, const Tree& after, const fs::path& directory) {
  for (const auto& [path, entry] : before.entries()) {
    const Entry* now = after.find(path);
    if (now != nullptr && *now == entry) continue;
    std::error_code failed;
    fs::remove_all(directory / path, failed);
    if (failed) return false;
    // Remove a folder that became empty, because an empty directory is an observation, too.
    for (fs::path parent = (directory / path).parent_path(); parent != directory;
         parent = parent.parent_path()) {
      if (::rmdir(parent.c_str()) != 0) break;
    }
  }
  Writer writer(directory);
  return std::ranges::all_of(after.entries(), [&](const auto& named) {
    const Entry* was = before.find(named.first);
    // An empty directory may have been removed with its last entry.
    const bool stands =
        was != nullptr && *was == named.second && named.second.kind != Entry::Kind::directory;
    return stands || writer.write(named.first, named.second);
  });
}

}  // namespace muster::nodes
