// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/attributes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "lib/base/text.hpp"
#include "lib/probes/parse/parse.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongestText = 400;

bool all_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

bool is_own_lack(const Error& error) {
  return std::ranges::any_of(std::array{ENOMEM, EMFILE, ENFILE, EINTR},
                             [&](int code) { return error.message.ends_with(errno_text(code)); });
}

Result<std::string> read_text(const Root& root, std::string_view path) {
  auto line = root.read_line(path);
  if (!line) return line;
  return printable(*line, kLongestText);
}

Result<std::string> read_filled(const Root& root, std::string_view path) {
  auto text = root.read(path);
  if (text && text->empty()) return make_error("read {}: empty", path);
  return text;
}

Result<std::uint64_t> read_unsigned(const Root& root, std::string_view path) {
  return read_and_parse(root, path, parse_unsigned);
}

Result<std::int64_t> read_signed(const Root& root, std::string_view path) {
  return read_and_parse(root, path, parse_signed);
}

Result<double> read_scaled(const Root& root, std::string_view path, double per_unit) {
  return read_signed(root, path).map([&](std::int64_t value) {
    return static_cast<double>(value) / per_unit;
  });
}

Result<std::uint64_t> read_user(const Root& root, std::string_view folder) {
  return root.read(fmt::format("{}/status", folder)).and_then(parse_user);
}

Result<struct stat> status_of(const Descriptor& opened, std::string_view path) {
  struct stat status = {};
  if (::fstat(opened.get(), &status) != 0) return os_error("stat", path, errno);
  return status;
}

Result<struct stat> read_status(const Root& root, std::string_view path, int flags) {
  return root.open(path, O_PATH | flags).and_then([&](const Descriptor& opened) {
    return status_of(opened, path);
  });
}

std::string status_field(const Root& root, std::string_view name) {
  const auto text = root.read("/proc/self/status").value_or("");
  return std::string(field_of(text, name).value_or(""));
}

std::uint64_t effective_capabilities(const Root& root) {
  return parse_hex(status_field(root, "CapEff")).value_or(0);
}

bool has_ipc_lock(const Root& root) {
  return (effective_capabilities(root) >> unsigned{CAP_IPC_LOCK} & 1U) != 0;
}

Result<double> read_uptime(const Root& root) {
  return read_and_parse(root, "/proc/uptime", [](std::string_view line) -> Result<double> {
    auto seconds = parse_number(line.substr(0, line.find(' ')));
    if (seconds && *seconds >= 0) return seconds;
    return make_error("expected seconds, got \"{}\"", printable(line, 40));
  });
}

Result<std::string> read_head(const Root& root, std::string_view path, std::size_t max_bytes) {
  // O_NONBLOCK: a FIFO in a foreign tree must not block the probe.
  TRY_ASSIGN(const auto file, root.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  std::string head(max_bytes, '\0');
  std::size_t filled = 0;
  while (filled < max_bytes) {
    const ssize_t got = read_some(file.get(), head.data() + filled, max_bytes - filled);
    if (got < 0) return os_error("read", path, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  head.resize(filled);
  return head;
}

bool is_pci_address(std::string_view text) {
  const auto domain = text.find(':');
  if (domain == std::string_view::npos || domain < 4 || domain > 8) return false;
  const auto rest = text.substr(domain + 1);  // bb:dd.f
  if (rest.size() != 7 || rest[2] != ':' || rest[5] != '.') return false;
  return all_hex(text.substr(0, domain)) && all_hex(rest.substr(0, 2)) &&
         all_hex(rest.substr(3, 2)) && rest[6] >= '0' && rest[6] <= '7';
}

Result<std::string> read_pci_address(const Root& root, std::string_view device_link) {
  TRY_ASSIGN(const auto target, root.resolve(device_link));
  const auto parts = split(target, '/');
  const auto found = std::find_if(parts.rbegin(), parts.rend(), is_pci_address);
  if (found == parts.rend()) {
    return make_missing("{} is not on the PCI bus", device_link);
  }
  return std::string(*found);
}

Fact<double> read_link_speed(const Root& root, const std::string& path) {
  TRY_ASSIGN(const auto line, root.read_line(path));
  if (line.starts_with("Unknown")) return make_missing("{} says {}", path, printable(line));
  const auto words = split_words(line);
  const auto value =
      words.size() >= 2 && words[1] == "GT/s" ? parse_number(words[0]) : make_error("");
  if (!value || *value <= 0) {
    return make_error("read {}: \"{}\" is not a link speed", path, printable(line));
  }
  return *value;
}

Fact<unsigned> read_link_width(const Root& root, const std::string& path) {
  TRY_ASSIGN(const auto line, root.read_line(path));
  const auto value = parse_unsigned(line);
  if (value && (*value == 0 || *value == 63 || *value == 255)) {
    return make_missing("{} is {}, which means unknown", path, *value);
  }
  if (!value || *value > 32) {
    return make_error("read {}: \"{}\" is not a link width", path, printable(line));
  }
  return static_cast<unsigned>(*value);
}

}  // namespace muster
