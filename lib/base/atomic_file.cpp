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
#include <system_error>

namespace muster {
namespace {

tl::unexpected<Error> failure(std::string_view operation, std::string_view file, int code) {
  return make_error(
      fmt::format("{} {}: {}", operation, file, std::generic_category().message(code)));
}

// 0, or the errno of what went wrong.
int write_and_close(int descriptor, std::string_view content) {
  int code = 0;
  while (code == 0 && !content.empty()) {
    const auto written = ::write(descriptor, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      code = errno;
    }
  }
  // Some file systems tell only here that the disk is full.
  if (::close(descriptor) != 0 && code == 0) code = errno;
  return code;
}

Result<void> write_in_place(const std::string& file, std::string_view content) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return failure("open", file, errno);
  const int code = write_and_close(descriptor, content);
  if (code != 0) return failure("write", file, code);
  return {};
}

// The umask can only be asked for by setting it: for a moment to the strictest one.
unsigned less_umask(unsigned mode) {
  const auto mask = ::umask(0777);
  ::umask(mask);
  return mode & ~mask;
}

}  // namespace

Result<void> replace_file(const std::filesystem::path& file,
                          std::string_view content,
                          unsigned mode) {
  const std::string name = file.string();

  struct stat status {};

  const bool exists = ::stat(name.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return failure("write", name, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(name, content);

  std::string temporary = fmt::format("{}.XXXXXX", name);
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return failure("create", fmt::format("{}.*", name), errno);
  const auto new_mode = exists ? status.st_mode & 0777 : less_umask(mode);
  int code = ::fchmod(descriptor, new_mode) == 0 ? 0 : errno;
  const int written = write_and_close(descriptor, content);
  if (code == 0) code = written;
  if (code == 0 && ::rename(temporary.c_str(), name.c_str()) != 0) code = errno;
  if (code == 0) return {};
  ::unlink(temporary.c_str());
  return failure("write", name, code);
}

}  // namespace muster
