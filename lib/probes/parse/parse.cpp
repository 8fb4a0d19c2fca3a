// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/parse.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/host_name.hpp"
#include "lib/base/json.hpp"
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
  return make_error("not a process: \"{}\"", printable(text, 60));
}

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

tl::unexpected<Error> not_a(std::string_view what, std::string_view text) {
  return make_error("expected {}, got \"{}\"", what, printable(text, 60));
}

// `count` groups of four hex digits, in lower case.
Result<std::string> parse_groups(std::string_view text, std::size_t count, std::string_view what) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  auto lower = lower_case(text);
  const auto groups = split(lower, ':');
  const bool right =
      groups.size() == count && std::ranges::all_of(groups, [&](auto group) {
        return group.size() == 4 && group.find_first_not_of(kDigits) == std::string_view::npos;
      });
  if (!right) return not_a(what, text);
  return lower;
}

Result<unsigned> parse_hex_up_to(std::string_view text, std::uint64_t most, std::string_view what) {
  const auto number = text.starts_with("0x") ? parse_hex(text) : not_a(what, text);
  if (!number || *number > most) return not_a(what, text);
  return static_cast<unsigned>(*number);
}

// Whether a word can be a speed's name; newer kernels may have new names.
bool is_speed_name(std::string_view text) {
  return text.size() >= 2 && text.size() <= 8 && std::ranges::all_of(text, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
         });
}

// HV_KVP_EXCHANGE_MAX_KEY_SIZE and _VALUE_SIZE of the kernel's hyperv.h: a record is a key and a
// value, padded with zeros.
constexpr std::size_t kKeySize = 512;
constexpr std::size_t kValueSize = 2048;
constexpr std::size_t kRecordSize = kKeySize + kValueSize;
constexpr std::string_view kPhysicalHost = "PhysicalHostNameFullyQualified";

std::string_view up_to_zero(std::string_view field) { return field.substr(0, field.find('\0')); }

using nlohmann::json;

// The clouds' keys for the size: Azure's `vmSize` is in ds.meta_data.imds.compute, AWS's keys are
// in ds.meta_data and ds.dynamic.instance-identity.document, Google's `machineType` is in
// ds.meta_data or its `instance`.
constexpr std::array<std::string_view, 6> kNames{"vmSize",       "instance-type", "instance_type",
                                                 "instanceType", "machineType",   "machine-type"};
constexpr int kDeepestBlock = 8;  // the keys are at most four levels deep
constexpr std::size_t kLongestSize = 100;

// "a3-highgpu-8g" for Google's "projects/123/machineTypes/a3-highgpu-8g"; empty if the text is not
// a size ("redacted for non-root user").
std::string_view size_in(std::string_view text) {
  text = trim(text.substr(text.rfind('/') + 1));
  return is_host_name(text) && text.size() <= kLongestSize ? text : std::string_view{};
}

std::string find_size(const json& block, std::string_view name, int depth) {
  if (!block.is_object() || depth > kDeepestBlock) return {};
  for (const auto& [key, value] : block.items()) {
    if (key != name || !value.is_string()) continue;
    if (const auto size = size_in(value.get_ref<const std::string&>()); !size.empty()) {
      return std::string(size);
    }
  }
  for (const auto& [key, value] : block.items()) {
    if (auto size = find_size(value, name, depth + 1); !size.empty()) return size;
  }
  return {};
}

}  // namespace

std::optional<std::string_view> field_of(std::string_view text, std::string_view key) {
  for (const auto line : split_lines(text)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    return trim(line.substr(colon + 1));
  }
  return std::nullopt;
}

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
  for (const auto* key : {"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"}) {
    const auto field = field_of(status, key);
    if (!field) return make_error("no count of context switches");
    const auto count = parse_unsigned(*field);
    if (!count) return make_error("not a count: \"{}\"", printable(*field, 60));
    sum += *count;
  }
  return sum;
}

Result<std::uint64_t> parse_user(std::string_view status) {
  const auto field = field_of(status, "Uid");  // "real effective saved file-system"
  if (!field) return make_error("no user");
  auto user = parse_unsigned(field->substr(0, field->find('\t')));
  if (!user) return make_error("not a user: \"{}\"", printable(*field, 60));
  return user;
}

bool is_being_killed(std::string_view status) {
  constexpr std::uint64_t kKill = 1U << (SIGKILL - 1);
  return std::ranges::any_of(std::array{"SigPnd", "ShdPnd"}, [&](std::string_view key) {
    return (parse_hex(field_of(status, key).value_or("")).value_or(0) & kKill) != 0;
  });
}

Result<LoadAverage> parse_load_average(std::string_view line) {
  const auto words = split_words(line);  // "0.20 0.18 0.12 1/80 11206"
  const auto wrong = [&] { return make_error("not a load average: \"{}\"", printable(line, 60)); };
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
  const auto field = field_of(text, key);
  if (!field) return make_missing("meminfo has no {}", key);
  const auto words = split_words(*field);
  const auto number =
      words.size() == 2 && words[1] == "kB" ? parse_unsigned(words[0]) : make_error("");
  if (number && *number <= std::numeric_limits<std::uint64_t>::max() / kKib) return *number * kKib;
  return make_error("meminfo: {} is not a number of kB: \"{}\"", key, printable(*field, 60));
}

std::string unescape(std::string_view text, std::string_view start, std::size_t digits, int base) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    unsigned code = 0;
    const auto number =
        text.starts_with(start) ? text.substr(start.size(), digits) : std::string_view();
    const auto* const end = number.data() + number.size();
    const bool escaped = number.size() == digits &&
                         std::from_chars(number.data(), end, code, base).ptr == end && code <= 0xff;
    result.push_back(escaped ? static_cast<char>(code) : text.front());
    text.remove_prefix(escaped ? start.size() + digits : 1);
  }
  return result;
}

Result<Mount> parse_mount(std::string_view line) {
  const auto fields = split(line, ' ');
  const bool valid = fields.size() >= 4 && fields[1].starts_with('/') && !fields[2].empty();
  if (!valid) {
    return make_error("not a mount: \"{}\"", printable(line, 80));
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

Result<LinkRate> parse_link_rate(std::string_view text) {
  constexpr std::string_view kForm = "a rate such as \"400 Gb/sec (4X NDR)\"";
  const auto words = split_words(text);
  if (words.size() < 3 || words.size() > 4 || words[1] != "Gb/sec") return not_a(kForm, text);
  if (!words[2].starts_with('(') || !words.back().ends_with(')')) return not_a(kForm, text);

  std::string_view lanes = words[2].substr(1);
  std::string_view speed;
  if (words.size() == 3) {
    lanes.remove_suffix(1);
  } else {
    speed = words[3].substr(0, words[3].size() - 1);
    if (!is_speed_name(speed)) return not_a(kForm, text);
  }
  if (!lanes.ends_with('X')) return not_a(kForm, text);
  lanes.remove_suffix(1);

  const auto gbps = parse_number(words[0]);
  const auto count = parse_unsigned(lanes);
  constexpr double kMaxGbps = 1e6;  // far above any link, so that garbage is not taken for a rate
  if (!gbps || *gbps < 0 || *gbps > kMaxGbps || !count || *count > 64) return not_a(kForm, text);
  return LinkRate{
      .gbps = *gbps, .lanes = static_cast<unsigned>(*count), .speed = std::string(speed)};
}

Result<unsigned> parse_numbered_state(std::string_view text) {
  constexpr std::string_view kForm = "a state such as \"4: ACTIVE\"";
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return not_a(kForm, text);
  const auto number = parse_unsigned(text.substr(0, colon));
  if (!number || *number > 255) return not_a(kForm, text);
  return static_cast<unsigned>(*number);
}

Result<unsigned> parse_lid(std::string_view text) {
  return parse_hex_up_to(text, std::numeric_limits<std::uint32_t>::max(),
                         "a LID such as \"0x1a0\"");
}

Result<unsigned> parse_pkey(std::string_view text) {
  return parse_hex_up_to(text, 0xffff, "a partition key such as \"0x8015\"");
}

Result<std::string> parse_gid(std::string_view text) {
  return parse_groups(text, 8, "a GID of eight groups of hex digits");
}

Result<std::string> parse_guid(std::string_view text) {
  return parse_groups(text, 4, "a GUID of four groups of hex digits");
}

Result<std::string> parse_physical_host(std::string_view pool) {
  while (pool.size() >= kRecordSize) {
    if (up_to_zero(pool.substr(0, kKeySize)) == kPhysicalHost) {
      const auto name = up_to_zero(pool.substr(kKeySize, kValueSize));
      if (!is_host_name(name)) return make_error("the key-value pool holds no valid host name");
      return std::string(name);
    }
    pool.remove_prefix(kRecordSize);
  }
  if (!pool.empty()) return make_error("the key-value pool ends within a record");
  return make_missing("the host has not given its name in the key-value pool");
}

Result<std::string> parse_instance_size(std::string_view text) {
  const auto document = parse_json(text);
  if (!document || !document->is_object()) {
    return make_error("cloud-init's instance data cannot be understood as JSON");
  }
  const auto source = document->find("ds");
  if (source != document->end()) {
    for (const auto name : kNames) {
      if (auto size = find_size(*source, name, 0); !size.empty()) return size;
    }
  }
  return make_missing("cloud-init's instance data does not contain the instance's size");
}

}  // namespace muster
