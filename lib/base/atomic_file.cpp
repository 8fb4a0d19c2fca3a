// SPDX-License-Identifier: Apache-2.0
#include "lib/base/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "lib/base/descriptor.hpp"

namespace muster {
namespace {

// The umask can only be read by setting it, here to the strictest one for a moment.
unsigned less_umask(unsigned mode) {
  const auto mask = ::umask(0777);
  ::umask(mask);
  return mode & ~mask;
}

}  // namespace

Result<FileReplacement> FileReplacement::begin(const std::filesystem::path& file, unsigned mode) {
  FileReplacement made;
  made.name_ = file.string();

  struct stat status {};

  const bool exists = ::stat(made.name_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return os_error("write", made.name_, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    made.descriptor_ = ::open(made.name_.c_str(), O_WRONLY | O_CLOEXEC);
    if (made.descriptor_ < 0) return os_error("open", made.name_, errno);
    return made;
  }
  std::string temporary = fmt::format("{}.XXXXXX", made.name_);
  made.descriptor_ = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (made.descriptor_ < 0) return os_error("create", fmt::format("{}.*", made.name_), errno);
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

Result<void> FileReplacement::append(std::string_view content) {
  const int code = write_all(descriptor_, content);
  if (code != 0) return os_error("write", name_, code);
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

}  // namespace muster
