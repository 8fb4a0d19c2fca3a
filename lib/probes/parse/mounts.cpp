// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/mounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text.hpp"

namespace muster {
namespace {

bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

// Three octal digits after a backslash; the kernel writes \011, \012, \040, \043 and \134.
std::string unescape(std::string_view text) {
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

}  // namespace

Result<Mount> parse_mount(std::string_view line) {
  const auto fields = split(line, ' ');
  const bool valid = fields.size() >= 4 && fields[1].starts_with('/') && !fields[2].empty();
  if (!valid) {
    return make_error(fmt::format("not a mount: \"{}\"", printable(line, 80)));
  }
  const auto options = split(fields[3], ',');
  Mount mount;
  mount.source = unescape(fields[0]);
  mount.point = unescape(fields[1]);
  mount.type = unescape(fields[2]);
  mount.read_only = std::find(options.begin(), options.end(), "ro") != options.end();
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
