// SPDX-License-Identifier: Apache-2.0
#include "lib/base/root.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <utility>

#include "lib/base/files.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

std::string relative(std::string_view path) {
  const auto first = path.find_first_not_of('/');
  return first == std::string_view::npos ? "." : std::string(path.substr(first));
}

// The kernel resolves all links, even absolute ones, as if `directory` were the root.
int open_in_root(int directory, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_IN_ROOT;
  // The kernel returns EAGAIN if anything is renamed while it resolves a "..", because the path
  // could then have left the root (openat2(2)). Try again.
  constexpr int kTries = 1000;
  int descriptor = -1;
  for (int i = 0; i < kTries; ++i) {
    descriptor =
        static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
    if (descriptor >= 0 || errno != EAGAIN) break;
  }
  return descriptor;
}

// The path of `descriptor` as the kernel reports it.
Result<std::string> name_of(int descriptor, std::string_view path) {
  std::string target(PATH_MAX, '\0');
  const auto length =
      ::readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), target.data(), target.size());
  if (length < 0 && errno == ENOENT) {
    return make_error("resolve {}: /proc is not mounted", path);
  }
  if (length < 0) return file_error("resolve", path, errno);
  target.resize(static_cast<std::size_t>(length));
  return target;
}

}  // namespace

Root::Root() : Root("/", Descriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), false) {}

Root::Root(std::filesystem::path path, Descriptor directory, bool foreign)
    : path_(std::move(path)), directory_(std::move(directory)), foreign_(foreign) {}

Result<Root> Root::below(const std::filesystem::path& path) {
  Descriptor directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return file_error("open", path.string(), errno);
  const Descriptor probe(open_in_root(directory.get(), ".", O_PATH | O_CLOEXEC));
  if (!probe.is_open()) {
    return make_error("open {} as a root: openat2 failed (needs Linux 5.6 or later): {}",
                      path.string(), errno_text(errno));
  }
  // The canonical name, which resolve() removes from the kernel's paths.
  TRY_ASSIGN(auto name, name_of(directory.get(), path.string()));
  const bool foreign = name != "/";
  return Root(std::move(name), std::move(directory), foreign);
}

Result<Descriptor> Root::open(std::string_view path, int flags) const {
  const std::string below = relative(path);
  const int directory = directory_.get();
  Descriptor opened(foreign_ ? open_in_root(directory, below, flags | O_CLOEXEC)
                             : ::openat(directory, below.c_str(), flags | O_CLOEXEC));
  if (!opened.is_open()) return file_error("open", path, errno);
  return opened;
}

Result<std::string> Root::read(std::string_view path, std::size_t max_bytes) const {
  // Opening a FIFO waits for its other end. Users can name one in an NCCL setting.
  TRY_ASSIGN(const auto file, open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  return read_file(file, path, max_bytes);
}

Result<std::string> Root::read_line(std::string_view path) const {
  auto content = read(path);
  if (!content) return content;
  const auto line = trim(std::string_view(*content).substr(0, content->find('\n')));
  if (line.empty()) return make_error("read {}: empty", path);
  return std::string(line);
}

Result<std::vector<std::string>> Root::list(std::string_view path, std::size_t most) const {
  TRY_ASSIGN(auto opened, open(path, O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(opened.get()), &::closedir);
  if (!directory) return file_error("list", path, errno);
  static_cast<void>(opened.release());  // closedir closes it
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name == "." || name == "..") continue;
    if (names.size() == most) {
      return make_error("list {}: more than {} entries", path, most);
    }
    names.emplace_back(name);
  }
  if (errno != 0) return file_error("list", path, errno);
  std::ranges::sort(names);
  return names;
}

Result<std::string> Root::read_link(std::string_view path) const {
  TRY_ASSIGN(const auto link, open(path, O_PATH | O_NOFOLLOW));
  std::string target(PATH_MAX, '\0');
  const auto length = ::readlinkat(link.get(), "", target.data(), target.size());
  if (length < 0) {
    // An empty path names the descriptor itself, which fails with ENOENT if it is not a link.
    return file_error("read link", path, errno == ENOENT ? EINVAL : errno);
  }
  target.resize(static_cast<std::size_t>(length));
  return target;
}

Result<std::string> Root::resolve(std::string_view path) const {
  TRY_ASSIGN(const auto place, open(path, O_PATH));
  auto name = name_of(place.get(), path);
  if (!name || !foreign_) return name;
  if (!name->starts_with(path_.native())) {
    return make_error("resolve {}: leads out of {}", path, path_.string());
  }
  name->erase(0, path_.native().size());
  return name->empty() ? "/" : *name;
}

bool Root::exists(std::string_view path) const { return open(path, O_PATH).has_value(); }

}  // namespace muster
