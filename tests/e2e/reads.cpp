// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/reads.hpp"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

class Watch {
 public:
  explicit Watch(const fs::path& root) : queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    // Walks first and watches afterwards, so that the walk itself is not seen.
    std::vector<fs::path> folders;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_directory() && !entry.is_symlink()) folders.push_back(entry.path());
    }
    add(root, "");
    for (const auto& folder : folders) {
      add(folder, fmt::format("{}/", folder.lexically_relative(root).string()));
    }
  }

  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  ~Watch() { ::close(queue_); }

  std::set<std::string> take() {
    std::set<std::string> opened;
    alignas(inotify_event) std::array<char, 65536> buffer{};
    for (;;) {
      const auto got = ::read(queue_, buffer.data(), buffer.size());
      if (got <= 0) return opened;
      for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        note(event, buffer.data() + at + sizeof event, opened);
        at += sizeof event + event.len;
      }
    }
  }

 private:
  void add(const fs::path& folder, std::string name) {
    const int watch = ::inotify_add_watch(queue_, folder.c_str(), IN_OPEN);
    if (watch < 0) {
      fmt::print(stderr, "inotify cannot watch {}: {}\n", folder.string(), std::strerror(errno));
      std::abort();
    }
    names_[watch] = std::move(name);
  }

  void note(const inotify_event& event, const char* name, std::set<std::string>& opened) const {
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      fmt::print(stderr, "inotify lost events\n");
      std::abort();
    }
    const auto& folder = names_.at(event.wd);
    if (event.len == 0) {
      opened.insert(folder);
    } else if ((event.mask & IN_ISDIR) == 0) {
      opened.insert(fmt::format("{}{}", folder, name));
    }
  }

  int queue_;
  std::map<int, std::string> names_;
};

}  // namespace

std::set<std::string> opened_below(const fs::path& root, const std::function<void()>& work) {
  Watch watch(root);
  work();
  return watch.take();
}

std::string shape_of(std::string_view path) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kDigits = "0123456789";
  std::string shape;
  while (!path.empty()) {
    // A run of hexadecimal digits is a number if it has a decimal one.
    const auto run = path.substr(0, path.find_first_not_of(kHex));
    const bool number = run.find_first_of(kDigits) != std::string_view::npos;
    shape.append(number ? "#" : run.empty() ? path.substr(0, 1) : run);
    path.remove_prefix(std::max<std::size_t>(run.size(), 1));
  }
  return shape;
}

}  // namespace muster::e2e
