// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/procfs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace muster {
namespace {

// Removes and returns the first word. Splitting into a vector would dominate the cost for thousands
// of processes.
std::string_view take_word(std::string_view& text) {
  const auto end = text.find(' ');
  const auto word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

tl::unexpected<Error> not_a_process(std::string_view text) {
  return make_error(fmt::format("not a process: \"{}\"", printable(text, 60)));
}

bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

// The user of a mount: FUSE has an option that fusermount enforces, and mount(8) adds one to mounts
// that /etc/fstab allows to users.
Fact<std::string> user_of(std::string_view type, const std::vector<std::string_view>& options) {
  for (const auto option : options) {
    const auto value = option.substr(std::min(option.find('=') + 1, option.size()));
    const bool fuse = type.starts_with("fuse") && option.starts_with("user_id=") && value != "0";
    const bool named = type != "cifs" && type != "smb3" && option.starts_with("user=");
    if ((fuse || (named && value != "root")) && !value.empty()) return printable(value, 64);
  }
  return {};
}

}  // namespace

Result<ProcessStat> parse_process_stat(std::string_view text) {
  constexpr int kFieldsBetween = 17;  // after the parent's pid (4) and before the start time (22)
  const auto open = text.find(" (");
  const auto close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) {
    return not_a_process(text);
  }
  ProcessStat stat;
  stat.name = text.substr(open + 2, close - open - 2);
  auto rest = trim(text.substr(close + 2));
  const auto state = take_word(rest);
  const auto pid = parse_unsigned(text.substr(0, open));
  const auto parent = parse_unsigned(take_word(rest));
  for (int i = 0; i < kFieldsBetween; ++i) take_word(rest);
  const auto start = parse_unsigned(take_word(rest));
  if (!pid || !parent || !start || state.size() != 1) return not_a_process(text);
  stat.pid = *pid;
  stat.state = state.front();
  stat.parent = *parent;
  stat.start_ticks = *start;
  return stat;
}

Result<std::uint64_t> parse_context_switches(std::string_view status) {
  std::uint64_t sum = 0;
  int found = 0;
  for (const auto line : split_lines(status)) {
    const auto colon = line.find(':');
    const auto key = line.substr(0, colon);
    if (key != "voluntary_ctxt_switches" && key != "nonvoluntary_ctxt_switches") continue;
    const auto count = parse_unsigned(trim(line.substr(std::min(colon, line.size() - 1) + 1)));
    if (!count) return make_error(fmt::format("not a count: \"{}\"", printable(line, 60)));
    sum += *count;
    ++found;
  }
  if (found != 2) return make_error("no count of context switches");
  return sum;
}

Result<std::uint64_t> parse_user(std::string_view status) {
  for (const auto line : split_lines(status)) {
    const auto words = split_words(line);  // "Uid: real effective saved file-system"
    if (words.size() < 2 || words[0] != "Uid:") continue;
    if (const auto user = parse_unsigned(words[1])) return *user;
    return make_error(fmt::format("not a user: \"{}\"", printable(line, 60)));
  }
  return make_error("no user");
}

bool is_being_killed(std::string_view status) {
  constexpr std::uint64_t kKill = 1U << (SIGKILL - 1);
  return std::ranges::any_of(split_lines(status), [](std::string_view line) {
    const auto words = split_words(line);  // "SigPnd: 0000000000000100", "ShdPnd: …"
    if (words.size() != 2 || (words[0] != "SigPnd:" && words[0] != "ShdPnd:")) return false;
    const auto pending = parse_hex(words[1]);
    return pending && (*pending & kKill) != 0;
  });
}

Result<LoadAverage> parse_load_average(std::string_view line) {
  const auto words = split_words(line);  // "0.20 0.18 0.12 1/80 11206"
  const auto wrong = [&] {
    return make_error(fmt::format("not a load average: \"{}\"", printable(line, 60)));
  };
  if (words.size() != 5) return wrong();
  const auto slash = words[3].find('/');
  if (slash == std::string_view::npos) return wrong();
  const auto load1 = parse_number(words[0]);
  const auto load5 = parse_number(words[1]);
  const auto load15 = parse_number(words[2]);
  const auto running = parse_unsigned(words[3].substr(0, slash));
  const auto total = parse_unsigned(words[3].substr(slash + 1));
  if (!load1 || !load5 || !load15 || !running || !total) return wrong();
  if (*load1 < 0 || *load5 < 0 || *load15 < 0) return wrong();
  return LoadAverage{
      .load1 = *load1, .load5 = *load5, .load15 = *load15, .running = *running, .total = *total};
}

Result<std::uint64_t> parse_meminfo(std::string_view text, std::string_view key) {
  constexpr std::uint64_t kKib = 1024;
  for (const auto line : split_lines(text)) {
    auto words = split_words(line);
    if (words.size() > 2 && words[0] == "Node") words.erase(words.begin(), words.begin() + 2);
    if (words.empty() || !words[0].ends_with(':')) continue;
    if (words[0].substr(0, words[0].size() - 1) != key) continue;
    const auto number = words.size() == 3 && words[2] == "kB"
                            ? parse_unsigned(words[1])
                            : Result<std::uint64_t>(make_error(""));
    if (!number || *number > std::numeric_limits<std::uint64_t>::max() / kKib) {
      return make_error(
          fmt::format("meminfo: {} is not a number of kB: \"{}\"", key, printable(line, 60)));
    }
    return *number * kKib;
  }
  return make_missing(fmt::format("meminfo has no {}", key));
}

std::optional<std::string_view> cpuinfo_field(std::string_view head, std::string_view key) {
  for (const auto line : split_lines(head)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    return trim(line.substr(colon + 1));
  }
  return std::nullopt;
}

std::string unescape_mount(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const bool escaped = text.size() >= 4 && text[0] == '\\' && text[1] <= '3' &&
                         is_octal(text[1]) && is_octal(text[2]) && is_octal(text[3]);
    if (escaped) {
      const int code = (text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0');
      result.push_back(static_cast<char>(code));
    } else {
      result.push_back(text[0]);
    }
    text.remove_prefix(escaped ? 4 : 1);
  }
  return result;
}

Result<Mount> parse_mount(std::string_view line) {
  const auto fields = split(line, ' ');
  const bool valid = fields.size() >= 4 && fields[1].starts_with('/') && !fields[2].empty();
  if (!valid) {
    return make_error(fmt::format("not a mount: \"{}\"", printable(line, 80)));
  }
  const auto options = split(fields[3], ',');
  Mount mount;
  mount.source = unescape_mount(fields[0]);
  mount.point = unescape_mount(fields[1]);
  mount.type = unescape_mount(fields[2]);
  mount.user = user_of(mount.type, options);
  mount.read_only = std::find(options.begin(), options.end(), "ro") != options.end();
  std::vector<std::string> words;
  for (const auto option : options) words.push_back(printable(unescape_mount(option)));
  mount.options = std::move(words);
  return mount;
}

bool holds_data(std::string_view type) {
  static constexpr std::array<std::string_view, 33> kPseudo{
      "autofs",     "bdev",      "binder",      "binfmt_misc", "bpf",     "cgroup",   "cgroup2",
      "configfs",   "cpuset",    "debugfs",     "devfs",       "devpts",  "devtmpfs", "efivarfs",
      "fuse.lxcfs", "fusectl",   "fuse.portal", "hugetlbfs",   "ipathfs", "mqueue",   "nfsd",
      "nsfs",       "proc",      "pstore",      "ramfs",       "resctrl", "rootfs",   "rpc_pipefs",
      "securityfs", "selinuxfs", "smackfs",     "sysfs",       "tracefs"};
  return std::find(kPseudo.begin(), kPseudo.end(), type) == kPseudo.end();
}

}  // namespace muster
