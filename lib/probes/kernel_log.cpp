// SPDX-License-Identifier: Apache-2.0
// Reads the kernel log from its oldest record: by record from the device, by line from a recorded
// file. Bounded in size and time, and never blocks.

#include "lib/probes/parse/kernel_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view kPath = "/dev/kmsg";
constexpr std::size_t kMaxBytes = 64UL * 1024 * 1024;
constexpr std::size_t kBuffer = 64UL * 1024;  // a record needs at most 8 KiB
constexpr std::chrono::milliseconds kMaxTime{1500};

// The remaining bytes and time.
class Budget {
 public:
  bool spend(std::size_t bytes) {
    bytes_ += bytes;
    return bytes_ < kMaxBytes && SteadyClock::now() < end_;
  }

 private:
  std::size_t bytes_ = 0;
  SteadyClock::time_point end_ = SteadyClock::now() + kMaxTime;
};

// Splits a stream of bytes into records: a line, and the lines after it that start with a blank.
class RecordStream {
 public:
  explicit RecordStream(KmsgCollector& into) : into_(into) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      if (end == std::string_view::npos) {
        rest_.append(bytes);
        // No record is that long: do not buffer a whole file without lines.
        if (rest_.size() > kBuffer) finish();
        return;
      }
      if (rest_.empty()) {
        line(bytes.substr(0, end));
      } else {
        rest_.append(bytes.substr(0, end));
        finish();
      }
      bytes.remove_prefix(end + 1);
    }
  }

  void finish() {
    if (rest_.empty()) return;
    line(rest_);
    rest_.clear();
  }

 private:
  void line(std::string_view text) {
    const bool dictionary = text.starts_with(' ');
    if (!dictionary) into_.add(text);
  }

  KmsgCollector& into_;
  std::string rest_;
};

// Returns why the log cannot be read; empty if it was read to its end or to a bound.
std::string read_records(int descriptor, bool device, KmsgCollector& into) {
  std::array<char, kBuffer> buffer{};
  RecordStream stream(into);
  Budget budget;
  std::size_t size = 1;
  while (budget.spend(size)) {
    const ssize_t got = read_some(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EPIPE) {
      into.overwritten();
      size = 1;
      continue;
    }
    if (got < 0 && errno != EAGAIN) return errno_text(errno);
    if (got <= 0) {
      stream.finish();
      return {};
    }
    size = static_cast<std::size_t>(got);
    const std::string_view bytes(buffer.data(), size);
    if (device) {
      into.add(bytes);
    } else {
      stream.feed(bytes);
    }
  }
  into.truncated();
  return {};
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
  const std::string why = read_records(file->get(), S_ISCHR(mode), collector);
  if (!why.empty()) return not_observed<KernelLog>(fmt::format("read {}: {}", kPath, why));
  KernelLog log = collector.finish();
  if (log.seen == log.unparsable) {
    return not_observed<KernelLog>(
        fmt::format("read {}: no record in the kernel's form ({} of another)", kPath, log.seen));
  }
  return observed(std::move(log));
}

}  // namespace muster
