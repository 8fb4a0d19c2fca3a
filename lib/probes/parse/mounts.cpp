// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/mounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace muster {
namespace {

bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

// FUSE says who mounted it, and fusermount lets nobody say another; mount(8) notes the user of a
// mount that /etc/fstab allows to users.
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
