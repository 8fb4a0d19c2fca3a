// SPDX-License-Identifier: Apache-2.0
#include "lib/base/ownership.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <system_error>

#include "lib/base/text.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

bool is_trusted(::uid_t owner) { return owner == 0 || owner == ::geteuid(); }

std::string shown(const fs::path& path) { return printable(path.string(), 200); }

tl::unexpected<Error> belongs_to(const fs::path& path, ::uid_t owner) {
  return make_error(fmt::format("{} belongs to user {}: chown {} {}", shown(path), owner,
                                ::geteuid(), shown(path)));
}

}  // namespace

Result<void> check_own_folder(const fs::path& folder) {
  struct stat status = {};
  if (::stat(folder.c_str(), &status) != 0) return {};  // opening a file there reports why
  if (!is_trusted(status.st_uid)) return belongs_to(folder, status.st_uid);
  const bool is_of_own_group = status.st_gid == 0 || status.st_gid == ::getegid();
  const ::mode_t others = S_IWOTH | (is_of_own_group ? 0U : S_IWGRP);
  if ((status.st_mode & others) == 0) return {};
  return make_error(fmt::format("{} may be written by others (mode {:04o}): chmod go-w {}",
                                shown(folder), status.st_mode & 07777U, shown(folder)));
}

Result<void> check_own_file(const fs::path& file) {
  struct stat status = {};
  if (::lstat(file.c_str(), &status) != 0) return {};
  if (S_ISLNK(status.st_mode)) {
    return make_error(fmt::format("{} is a link: remove it", shown(file)));
  }
  if (!is_trusted(status.st_uid)) return belongs_to(file, status.st_uid);
  return {};
}

fs::path others_link(const fs::path& path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::error_code failure;
  const auto whole = fs::absolute(path, failure);
  std::deque<fs::path> rest(whole.begin(), whole.end());
  fs::path way;
  for (int links = 0; !rest.empty() && links < kMostLinks;) {
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
