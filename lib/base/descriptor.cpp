// SPDX-License-Identifier: Apache-2.0
#include "lib/base/descriptor.hpp"

#include <algorithm>
#include <cerrno>

namespace muster {

ssize_t read_some(int descriptor, char* into, std::size_t size) {
  for (;;) {
    const auto got = ::read(descriptor, into, size);
    if (got >= 0 || errno != EINTR) return got;
  }
}

int read_all(int descriptor, std::string& into, std::size_t most) {
  constexpr std::size_t kMin = 4096;  // one page holds almost every attribute
  constexpr std::size_t kLargest = 65536;
  while (into.size() <= most) {
    const std::size_t used = into.size();
    const std::size_t reserved = into.capacity() - used;
    into.resize(used + std::clamp(reserved < kMin ? used : reserved, kMin, kLargest));
    const auto got = read_some(descriptor, into.data() + used, into.size() - used);
    const int code = got < 0 ? errno : 0;
    into.resize(used + (got < 0 ? 0 : static_cast<std::size_t>(got)));
    if (got <= 0) return code;
  }
  return 0;
}

int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written >= 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace muster
