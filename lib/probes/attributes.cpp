// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/attributes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>

#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongestText = 400;

Error about(std::string_view path, const Error& error) {
  return {.message = fmt::format("read {}: {}", path, error.message), .missing = error.missing};
}

bool all_hex(std::string_view text) {
  return std::all_of(
      text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// "0001:00:00.0"
bool is_pci_address(std::string_view text) {
  // A domain has four digits, or up to eight under VMD and some hypervisors.
  const auto domain = text.find(':');
  if (domain == std::string_view::npos || domain < 4 || domain > 8) return false;
  const auto rest = text.substr(domain + 1);  // bb:dd.f
  if (rest.size() != 7 || rest[2] != ':' || rest[5] != '.') return false;
  return all_hex(text.substr(0, domain)) && all_hex(rest.substr(0, 2)) &&
         all_hex(rest.substr(3, 2)) && rest[6] >= '0' && rest[6] <= '7';
}

}  // namespace

Result<std::string> read_text(const Root& root, std::string_view path) {
  auto line = root.read_line(path);
  if (!line) return line;
  return printable(*line, kLongestText);
}

Result<std::uint64_t> read_unsigned(const Root& root, std::string_view path) {
  const auto line = root.read_line(path);
  if (!line) return tl::unexpected(line.error());
  auto number = parse_unsigned(*line);
  if (!number) return tl::unexpected(about(path, number.error()));
  return number;
}

Result<std::int64_t> read_signed(const Root& root, std::string_view path) {
  const auto line = root.read_line(path);
  if (!line) return tl::unexpected(line.error());
  auto number = parse_signed(*line);
  if (!number) return tl::unexpected(about(path, number.error()));
  return number;
}

Result<double> read_uptime(const Root& root) {
  constexpr std::string_view kPath = "/proc/uptime";
  const auto line = root.read_line(kPath);
  if (!line) return tl::unexpected(line.error());
  const auto words = split_words(*line);
  if (words.empty()) return make_error(fmt::format("read {}: no number", kPath));
  auto seconds = parse_number(words.front());
  if (!seconds || *seconds < 0) {
    return make_error(
        fmt::format("read {}: expected seconds, got \"{}\"", kPath, printable(*line, 40)));
  }
  return seconds;
}

Result<std::string> read_head(const Root& root, std::string_view path, std::size_t max_bytes) {
  // Not blocking, so that a FIFO in a foreign tree cannot hold the probe.
  const auto file = root.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return tl::unexpected(file.error());
  std::string head(max_bytes, '\0');
  std::size_t filled = 0;
  while (filled < max_bytes) {
    const ssize_t got = read_some(file->get(), head.data() + filled, max_bytes - filled);
    if (got < 0) {
      return make_error(fmt::format("read {}: {}", path, std::generic_category().message(errno)));
    }
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  head.resize(filled);
  return head;
}

Result<std::string> read_pci_address(const Root& root, std::string_view device_link) {
  const auto target = root.resolve(device_link);
  if (!target) return tl::unexpected(target.error());
  const auto parts = split(*target, '/');
  const auto found = std::find_if(parts.rbegin(), parts.rend(), is_pci_address);
  if (found == parts.rend()) {
    return make_missing(fmt::format("{} is not on the PCI bus", device_link));
  }
  return std::string(*found);
}

Fact<double> read_link_speed(const Root& root, const std::string& path) {
  const auto line = root.read_line(path);
  if (!line) return Fact<double>::failed(line.error());
  if (line->starts_with("Unknown"))
    return Fact<double>::absent(fmt::format("{} says {}", path, printable(*line)));
  const auto words = split_words(*line);
  const auto value =
      words.size() >= 2 && words[1] == "GT/s" ? parse_number(words[0]) : make_error("");
  if (!value || *value <= 0) {
    return Fact<double>::unreadable(
        fmt::format("read {}: \"{}\" is not a link speed", path, printable(*line)));
  }
  return *value;
}

Fact<unsigned> read_link_width(const Root& root, const std::string& path) {
  const auto line = root.read_line(path);
  if (!line) return Fact<unsigned>::failed(line.error());
  const auto value = parse_unsigned(*line);
  if (value && (*value == 0 || *value == 63 || *value == 255)) {
    return Fact<unsigned>::absent(fmt::format("{} says {}, which means not known", path, *value));
  }
  if (!value || *value > 32) {
    return Fact<unsigned>::unreadable(
        fmt::format("read {}: \"{}\" is not a link width", path, printable(*line)));
  }
  return static_cast<unsigned>(*value);
}

}  // namespace muster
