// SPDX-License-Identifier: Apache-2.0
// Reads the kernel log from its oldest record: by record from the device, by line from a recorded
// file. Bounded in size and time, and never blocks.

#include "lib/probes/parse/kernel_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kPath = "/dev/kmsg";
constexpr std::size_t kMaxBytes = 64UL * 1024 * 1024;
constexpr std::size_t kBuffer = 64UL * 1024;  // a record needs at most 8 KiB
constexpr std::chrono::milliseconds kMaxTime{1500};

// Reads a record at a time, until the end or a bound. Returns 0 or an errno.
int read_device(int descriptor, KmsgCollector& into) {
  std::array<char, kBuffer> buffer{};
  const auto end = Clock::now() + kMaxTime;
  for (std::size_t bytes = 0; bytes < kMaxBytes && Clock::now() < end;) {
    const ssize_t got = read_some(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EPIPE) {
      into.overwritten();
    } else if (got < 0 && errno != EAGAIN) {
      return errno;
    } else if (got <= 0) {
      return 0;
    } else {
      bytes += static_cast<std::size_t>(got);
      into.add({buffer.data(), static_cast<std::size_t>(got)});
    }
  }
  into.truncated();
  return 0;
}

// Reads a recorded log: a line per record, and lines of its dictionary, which start with a blank.
int read_recorded(int descriptor, KmsgCollector& into) {
  std::string text;
  if (const int code = read_all(descriptor, text, kMaxBytes); code != 0) return code;
  if (text.size() > kMaxBytes) into.truncated();
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(' ')) into.add(line);
  }
  return 0;
}

}  // namespace

Section<KernelLog> probe_kernel_log(const Root& root) {
  const auto file = root.open(kPath, O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (file.error().missing) return not_observed<KernelLog>(Status::absent, file.error().message);
    return not_observed<KernelLog>(fmt::format(
        "{} (with kernel.dmesg_restrict only root reads the kernel log)", file.error().message));
  }

  const auto status = status_of(*file, kPath);
  if (!status) return not_observed<KernelLog>(status.error().message);
  const auto mode = status->st_mode;
  if (!S_ISCHR(mode) && !S_ISREG(mode) && !S_ISDIR(mode)) {
    return not_observed<KernelLog>(
        fmt::format("read {}: neither the device nor a regular file", kPath));
  }

  KmsgCollector collector;
  const int code =
      S_ISCHR(mode) ? read_device(file->get(), collector) : read_recorded(file->get(), collector);
  if (code != 0) return not_observed<KernelLog>(os_error("read", kPath, code).value().message);
  KernelLog log = collector.finish();
  if (log.seen == log.unparsable) {
    return not_observed<KernelLog>(
        fmt::format("read {}: no record in the kernel's form ({} of another)", kPath, log.seen));
  }
  return observed(std::move(log));
}

}  // namespace muster
