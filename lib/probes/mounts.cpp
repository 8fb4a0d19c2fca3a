// SPDX-License-Identifier: Apache-2.0
// Mounted file systems that hold data, and how full they are.

#include "lib/probes/parse/mounts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/mounts_space.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kMounts = "/proc/mounts";
constexpr std::size_t kLargestTable = 8UL * 1024 * 1024;  // nodes with thousands of containers

Result<std::vector<Mount>> read_mounts(const Root& root) {
  const auto text = root.read(kMounts, kLargestTable);
  if (!text) return tl::unexpected(text.error());
  std::vector<Mount> mounts;
  for (const auto line : split_lines(*text)) {
    auto mount = parse_mount(line);
    if (!mount) return make_error(fmt::format("read {}: {}", kMounts, mount.error().message));
    mounts.push_back(*std::move(mount));
  }
  if (mounts.empty()) return make_error(fmt::format("read {}: no mounts", kMounts));
  return mounts;
}

// Older kernels' control groups are a tmpfs with more file systems on it.
bool is_kernel_place(std::string_view point) {
  return point.starts_with("/sys/") || point.starts_with("/proc/");
}

// Is one of `points` a folder above `point`? The root is none of them: an initial RAM disk mounts
// /run and /dev before the root file system and moves them into it, so that they come first.
bool below_any(const std::set<std::string>& points, const std::string& point) {
  for (auto slash = point.rfind('/'); slash != std::string::npos && slash > 0;
       slash = point.rfind('/', slash - 1)) {
    if (points.contains(point.substr(0, slash))) return true;
  }
  return false;
}

KernelMount without_data(const Mount& mount) {
  return {.point = printable(mount.point),
          .type = printable(mount.type),
          .source = printable(mount.source),
          .read_only = mount.read_only};
}

// A later mount on the same point, or on a folder above it, hides the earlier one.
Mounts visible(std::vector<Mount> mounts) {
  Mounts result;
  std::vector<KernelMount> kernel;
  std::set<std::string> points;
  // NOLINTNEXTLINE(modernize-loop-convert): backwards
  for (auto mount = mounts.rbegin(); mount != mounts.rend(); ++mount) {
    const bool hidden = below_any(points, mount->point) || !points.insert(mount->point).second;
    if (hidden) continue;
    if (mount->type == "autofs" && !is_kernel_place(mount->point)) {
      result.automounts.push_back(printable(mount->point));
    }
    if (!holds_data(mount->type) || is_kernel_place(mount->point)) {
      kernel.push_back(without_data(*mount));
      continue;
    }
    mount->source = printable(mount->source);
    mount->type = printable(mount->type);
    result.mounts.push_back(std::move(*mount));
  }
  std::reverse(result.mounts.begin(), result.mounts.end());
  std::reverse(result.automounts.begin(), result.automounts.end());
  std::reverse(kernel.begin(), kernel.end());
  result.kernel = std::move(kernel);
  return result;
}

// O_PATH neither triggers an automount nor needs permission to read.
Result<Space> read_space(const Root& root, const std::string& point) {
  const auto directory = root.open(point, O_PATH | O_CLOEXEC);
  if (!directory) return tl::unexpected(directory.error());
  struct statfs raw = {};
  const int failure = ::fstatfs(directory->get(), &raw) == 0 ? 0 : errno;
  if (failure != 0) {
    return make_error(
        fmt::format("statfs {}: {}", point, std::generic_category().message(failure)));
  }
  const auto unit = static_cast<std::uint64_t>(raw.f_frsize != 0 ? raw.f_frsize : raw.f_bsize);
  return Space{.total_bytes = raw.f_blocks * unit,
               .available_bytes = raw.f_bavail * unit,
               .used_bytes = (raw.f_blocks - std::min(raw.f_bfree, raw.f_blocks)) * unit,
               .inodes_total = raw.f_files,
               .inodes_free = raw.f_ffree};
}

}  // namespace

Section<Mounts> probe_mounts(const Root& root, std::chrono::milliseconds statfs_deadline) {
  auto all = read_mounts(root);
  if (!all) return not_observed<Mounts>(all.error().message);

  Mounts result = visible(*std::move(all));
  std::vector<std::string> points;
  points.reserve(result.mounts.size());
  for (const auto& mount : result.mounts) points.push_back(mount.point);
  auto answers = ask_spaces(points, statfs_deadline, [&root](const std::string& point) {
    return read_space(root, point);
  });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    auto& mount = result.mounts[i];
    mount.hung = answers[i].hung;
    mount.space = std::move(answers[i].space);
    // Below a foreign root the mount points need not exist; on a live node a mount that cannot be
    // reached by its name is broken.
    if (mount.space.is_absent() && !root.foreign()) {
      mount.space = Fact<Space>::unreadable(mount.space.why());
    }
    mount.point = printable(mount.point);
  }
  return observed(std::move(result));
}

}  // namespace muster
