// SPDX-License-Identifier: Apache-2.0
#include "lib/base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <system_error>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

// The umask can only be read by setting it, here to the strictest one for a moment.
unsigned less_umask(unsigned mode) {
  const auto mask = ::umask(0777);
  ::umask(mask);
  return mode & ~mask;
}

bool is_trusted(::uid_t owner) { return owner == 0 || owner == ::geteuid(); }
std::string shown(const fs::path& path) { return printable(path.string(), 200); }

tl::unexpected<Error> belongs_to(const fs::path& path, ::uid_t owner) {
  return make_error("{} belongs to user {}: chown {} {}", shown(path), owner, ::geteuid(),
                    shown(path));
}

}  // namespace

Result<std::string> read_file(const Descriptor& file, std::string_view path, std::size_t most) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return os_error("stat", path, errno);
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {  // read() reports a directory
    return make_error("read {}: not a regular file", path);
  }
  std::string content;
  constexpr std::size_t kPage = 4096;  // kernel files promise at most one
  const auto size = std::min(static_cast<std::size_t>(status.st_size), most);
  if (size > kPage) content.reserve(size + kPage);
  if (const int code = read_all(file.get(), content, most); code != 0) {
    return file_error("read", path, code);
  }
  if (content.size() <= most) return content;
  return make_error(most % 1024 == 0 ? fmt::format("read {}: larger than {} KiB", path, most / 1024)
                                     : fmt::format("read {}: larger than {} bytes", path, most));
}

Result<std::string> read_named(const std::string& file) {
  constexpr std::size_t kLargest = 64UL << 20U;
  const bool is_input = file == kStandardInput;
  const auto name = is_input ? "standard input" : printable(file);
  const Descriptor opened(is_input ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!is_input && !opened.is_open()) return os_error("read", name, errno);
  std::string text;
  if (const int code = read_all(is_input ? STDIN_FILENO : opened.get(), text, kLargest)) {
    return os_error("read", name, code);
  }
  if (text.size() <= kLargest) return text;
  return make_error("read {}: more than {} bytes", name, kLargest);
}

Result<FileReplacement> FileReplacement::begin(const std::filesystem::path& file, unsigned mode) {
  FileReplacement made;
  made.name_ = file.string();
  struct stat status = {};
  const bool exists = ::stat(made.name_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return os_error("write", made.name_, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    made.descriptor_ = ::open(made.name_.c_str(), O_WRONLY | O_CLOEXEC);
    if (made.descriptor_ < 0) return os_error("open", made.name_, errno);
    return made;
  }
  std::string temporary = fmt::format("{}.XXXXXX", made.name_);
  made.descriptor_ = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (made.descriptor_ < 0) return os_error("create", made.name_, errno);
  made.temporary_ = std::move(temporary);
  const auto new_mode = exists ? status.st_mode & 0777 : less_umask(mode);
  if (::fchmod(made.descriptor_, new_mode) != 0) return os_error("write", made.name_, errno);
  return made;
}

FileReplacement::FileReplacement(FileReplacement&& other) noexcept
    : name_(std::move(other.name_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

FileReplacement::~FileReplacement() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> FileReplacement::set_mode(unsigned mode) {
  if (temporary_.empty() || ::fchmod(descriptor_, mode) == 0) return {};
  return os_error("write", name_, errno);
}

Result<void> FileReplacement::append(std::string_view content) {
  const int code = write_all(descriptor_, content);
  if (code != 0) return os_error("write", name_, code);
  return {};
}

Result<void> FileReplacement::sync() {
  if (::fsync(descriptor_) != 0) return os_error("write", name_, errno);
  return {};
}

Result<void> FileReplacement::finish() {
  // Some file systems report only here that the disk is full.
  if (::close(std::exchange(descriptor_, -1)) != 0) return os_error("write", name_, errno);
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), name_.c_str()) != 0) return os_error("write", name_, errno);
  temporary_.clear();
  return {};
}

Result<void> replace_file(const std::filesystem::path& file, std::string_view content,
                          unsigned mode) {
  TRY_ASSIGN(auto replacement, FileReplacement::begin(file, mode));
  if (auto written = replacement.append(content); !written) return written;
  return replacement.finish();
}

Result<void> check_no_others_link(const fs::path& path) {
  const auto link = others_link(path);
  if (link.empty()) return {};
  return make_error("{}: {} is a link of another user", shown(path), shown(link));
}

Result<void> check_own_folder(const fs::path& folder) {
  TRY(check_no_others_link(folder));
  struct stat status = {};
  if (::stat(folder.c_str(), &status) != 0) return {};  // opening a file there reports why
  if (!is_trusted(status.st_uid)) return belongs_to(folder, status.st_uid);
  const bool is_of_own_group = status.st_gid == 0 || status.st_gid == ::getegid();
  const ::mode_t others = S_IWOTH | (is_of_own_group ? 0U : S_IWGRP);
  if ((status.st_mode & others) == 0) return {};
  return make_error("{} is writable by others (mode {:04o}): chmod go-w {}", shown(folder),
                    status.st_mode & 07777U, shown(folder));
}

Result<void> check_own_file(const fs::path& file) {
  struct stat status = {};
  if (::lstat(file.c_str(), &status) != 0) return {};
  if (S_ISLNK(status.st_mode)) {
    return make_error("{} is a link: remove it", shown(file));
  }
  if (!is_trusted(status.st_uid)) return belongs_to(file, status.st_uid);
  return {};
}

fs::path others_link(const fs::path& path) {
  constexpr int kMaxLinks = 40;  // the kernel's limit
  std::error_code failure;
  const auto whole = fs::absolute(path, failure);
  std::deque<fs::path> rest(whole.begin(), whole.end());
  fs::path way;
  for (int links = 0; !rest.empty() && links < kMaxLinks;) {
    const auto next = way / rest.front();
    rest.pop_front();
    struct stat status = {};
    if (::lstat(next.c_str(), &status) != 0) return {};
    if (!S_ISLNK(status.st_mode)) {
      way = next;
      continue;
    }
    if (!is_trusted(status.st_uid)) return next;
    ++links;
    const auto target = fs::read_symlink(next, failure);
    if (failure) return {};
    if (target.is_absolute()) way.clear();
    rest.insert(rest.begin(), target.begin(), target.end());
  }
  return {};
}

}  // namespace muster
