// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/kernel_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr unsigned kWarning = 4;
constexpr unsigned kError = 3;
constexpr unsigned kMaxPriority = 2048;  // 8 bits of facility, 3 of level

// Words of messages that are kept at any level: firmware's error records and unresponsive servers,
// for example, are only notices.
constexpr std::array<std::string_view, 36> kWorthKeeping{
    // clang-format off
    "NVRM", "nvidia", "Xid", "amdgpu", "mlx5", "mlx4", "infiniband",
    "AER", "PCIe", "pcieport", "pciehp",
    "mce:", "MCE", "Machine check", "EDAC", "Hardware Error", "Memory failure", "BERT:",
    "nvme", "md/", "md:", "I/O error", "EXT4-fs", "XFS", "BTRFS", "Remounting",
    "Out of mem", "oom-kill", "lockup", "blocked for more than",
    "not responding", "Lustre", "ink is ", "ink becomes", "ink down",
    "ost carrier",
    // clang-format on
};

// Parses a number that ends at `end`, and removes both from `text`.
template <class T>
bool take_number(std::string_view& text, char end, T& into) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), into);
  const auto length = static_cast<std::size_t>(parsed.ptr - text.data());
  if (parsed.ec != std::errc{} || length >= text.size() || text[length] != end) return false;
  text.remove_prefix(length + 1);
  return true;
}

bool plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
}

// Printable and valid UTF-8; control characters stay escaped.
std::string clean(std::string_view raw) {
  if (plain(raw)) return std::string(raw.substr(0, KmsgCollector::kMaxText));
  return printable(unescape_kmsg(raw), KmsgCollector::kMaxText);
}

bool worth_keeping(const KmsgRecord& header, std::string_view text) {
  // systemd-networkd reports links, and the journal may forward it.
  constexpr std::string_view kCarrier = "ost carrier";
  if (header.facility != 0) {
    return header.level <= kError || text.find(kCarrier) != std::string_view::npos;
  }
  if (header.level <= kWarning) return true;
  return std::any_of(kWorthKeeping.begin(), kWorthKeeping.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

bool same_source(const KmsgRecord& a, const KmsgRecord& b) {
  return a.level == b.level && a.facility == b.facility;
}

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

std::optional<KmsgRecord> parse_kmsg(std::string_view record) {
  record = record.substr(0, record.find('\n'));
  KmsgRecord result;
  unsigned priority = 0;
  if (!take_number(record, ',', priority) || priority >= kMaxPriority ||
      !take_number(record, ',', result.sequence) || !take_number(record, ',', result.time_us)) {
    return std::nullopt;
  }
  const auto end = record.find(';');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  const char flag = record.front();
  if (flag != '-' && flag != 'c' && flag != '+') return std::nullopt;
  if (end > 1 && record[1] != ',') return std::nullopt;

  result.level = priority & 7U;
  result.facility = priority >> 3U;
  result.fragment = flag != '-';
  result.text = record.substr(end + 1);
  return result;
}

void KmsgCollector::add(std::string_view record) {
  ++log_.seen;
  const auto parsed = parse_kmsg(record);
  if (!parsed) {
    ++log_.unparsable;
    return;
  }
  if (!pending_) {
    log_.first_sequence = parsed->sequence;
    log_.first_us = parsed->time_us;
  }
  if (overwritten_) {
    const std::uint64_t expected = pending_ ? pending_->header.sequence + 1 : parsed->sequence;
    log_.lost += parsed->sequence > expected ? parsed->sequence - expected : 1;
    overwritten_ = false;
  }
  // A fragment has the default level instead of its line's, so only the order identifies it.
  if (parsed->fragment && pending_ && parsed->facility == pending_->header.facility &&
      parsed->sequence == pending_->header.sequence + 1) {
    if (pending_->raw.size() < kMaxText) pending_->raw.append(parsed->text);
    pending_->header.sequence = parsed->sequence;
    return;
  }
  flush();
  if (!pending_) pending_.emplace();
  pending_->header = *parsed;
  pending_->header.text = {};
  pending_->raw.assign(parsed->text);
}

void KmsgCollector::flush() {
  if (!pending_) return;
  const KmsgRecord& header = pending_->header;
  const bool repeated =
      any_flushed_ && same_source(header, previous_.header) && pending_->raw == previous_.raw;
  const bool done = repeated && (!previous_kept_ || coalesce(*previous_kept_, header));
  if (!done) {
    previous_kept_.reset();
    std::string text = clean(pending_->raw);
    if (worth_keeping(header, text)) keep(header, std::move(text));
  }
  previous_.header = header;
  previous_.raw.swap(pending_->raw);
  any_flushed_ = true;
}

void KmsgCollector::keep(const KmsgRecord& header, std::string text) {
  const std::size_t hash = std::hash<std::string_view>{}(text);
  const auto known = newest_.find(hash);
  if (known != newest_.end() && log_.records[known->second].text == text &&
      coalesce(known->second, header)) {
    previous_kept_ = known->second;
    return;
  }
  if (header.facility != 0 && ++user_kept_ > kMaxUserKept) return;
  if (log_.records.size() >= kMaxKept) drop_oldest();
  log_.records.push_back({.sequence = header.sequence,
                          .time_us = header.time_us,
                          .level = header.level,
                          .facility = header.facility,
                          .text = std::move(text),
                          .repeats = 1,
                          .last_us = header.time_us});
  newest_[hash] = log_.records.size() - 1;
  previous_kept_ = log_.records.size() - 1;
}

bool KmsgCollector::coalesce(std::size_t index, const KmsgRecord& header) {
  KernelRecord& record = log_.records[index];
  if (record.level != header.level || record.facility != header.facility ||
      header.time_us > record.last_us + kCoalesceUs) {
    return false;
  }
  ++record.repeats;
  record.last_us = std::max(record.last_us, header.time_us);
  return true;
}

void KmsgCollector::drop_oldest() {
  const auto half = static_cast<std::ptrdiff_t>(kMaxKept / 2);
  log_.records.erase(log_.records.begin(), log_.records.begin() + half);
  log_.truncated = true;
  newest_.clear();
  previous_kept_.reset();
}

KernelLog KmsgCollector::finish() {
  flush();
  pending_.reset();
  if (overwritten_) ++log_.lost;
  overwritten_ = false;
  return std::move(log_);
}

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
  if (!S_ISCHR(mode) && !S_ISREG(mode)) {
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
