// SPDX-License-Identifier: Apache-2.0
// The mounted file systems that hold data, and their space.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <thread>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"
#include "lib/process/child.hpp"

namespace muster {
namespace {

constexpr std::size_t kAtOnce = 64;  // concurrent children once something hangs
constexpr int kMaxBatches = 4;

// The answers as a section of mounts with nothing but their space.
std::string ask_all_of(std::span<const std::string> points, const AskSpace& ask) {
  Mounts asked;
  for (const auto& point : points) {
    auto answer = ask(point);
    if (!answer) answer.error().message = printable(answer.error().message);
    auto& mount = asked.mounts.emplace_back();
    mount.unasked = !answer && is_own_lack(answer.error());
    mount.space = std::move(answer);
  }
  return section_to_json(observed(std::move(asked)));
}

// One answer for each point; empty if `bytes` are invalid.
std::vector<Mount> decode_answers(std::string_view bytes, std::size_t points) {
  auto read = parse_section<Mounts>(bytes);
  if (!read || read->facts.mounts.size() != points) return {};
  return std::move(read->facts.mounts);
}

Mount unasked(std::string_view why) {
  return {.unasked = true, .space = make_error("statfs: {}", why)};
}

Mount single_answer(const ChildAnswer& answer) {
  if (answer.end == ChildAnswer::End::timeout) {
    return {.hung = true, .space = make_error("statfs: {}", answer.reason)};
  }
  if (answer.end == ChildAnswer::End::died) return unasked(answer.reason);
  const auto answers = decode_answers(answer.bytes, 1);
  return answers.empty() ? unasked("no valid answer from the child") : answers.front();
}

// Usually everything answers, and one child is enough. Returns nothing otherwise.
std::vector<Mount> ask_in_one_child(const std::vector<std::string>& points,
                                    std::chrono::milliseconds deadline, const AskSpace& ask) {
  const auto answer = ask_child("all", deadline, [&] { return ask_all_of(points, ask); });
  return answer ? decode_answers(*answer, points.size()) : std::vector<Mount>();
}

// Sleeps for a quarter of the deadline in total, and is late only if children get no CPU time.
constexpr std::string_view kControl = "control";

void start_control(Children& children, std::chrono::milliseconds deadline) {
  constexpr int kNaps = 10;
  children.start(std::string(kControl), deadline, [=] {
    for (int i = 0; i < kNaps; ++i) std::this_thread::sleep_for(deadline / (4 * kNaps));
    return std::string();
  });
}

bool is_in_time(const ChildAnswer& control, std::chrono::milliseconds deadline) {
  return control.end == ChildAnswer::End::answered &&
         control.duration_ms < 0.75 * static_cast<double>(deadline.count());
}

// Starts a child for each point, so that every point has the whole deadline.
void ask_one_by_one(std::span<const std::string> points, std::chrono::milliseconds deadline,
                    const AskSpace& ask, std::span<Mount> result) {
  Children children;
  for (std::size_t i = 0; i < points.size(); ++i) {
    children.start(fmt::format("{}", i), deadline,
                   [&, i] { return ask_all_of(points.subspan(i, 1), ask); });
  }
  start_control(children, deadline);
  bool has_cpu = false;
  for (auto next = children.next(); !next.first.empty(); next = children.next()) {
    const auto& [name, answer] = next;
    if (name == kControl) has_cpu = is_in_time(answer, deadline);
    const auto index = parse_unsigned(name);
    if (index && *index < result.size()) result[*index] = single_answer(answer);
  }
  for (auto& each : result) {
    if (!has_cpu && each.hung) each = unasked("a child without work was late as well");
  }
}

constexpr std::string_view kMounts = "/proc/mounts";
constexpr std::size_t kLargestMounts = 8UL * 1024 * 1024;  // nodes with thousands of containers

Result<std::vector<Mount>> read_mounts(const Root& root) {
  TRY_ASSIGN(const auto text, root.read(kMounts, kLargestMounts));
  std::vector<Mount> mounts;
  for (const auto line : split_lines(text)) {
    auto mount = parse_mount(line);
    if (!mount) return make_error("read {}: {}", kMounts, mount.error().message);
    mounts.push_back(*std::move(mount));
  }
  if (mounts.empty()) return make_error("read {}: no mounts", kMounts);
  return mounts;
}

// Below these older kernels mount control groups on a tmpfs.
bool is_kernel_place(std::string_view point) {
  return point.starts_with("/sys/") || point.starts_with("/proc/");
}

// Whether one of `points` is a folder above `point`, except the root: an initial RAM disk mounts
// /run and /dev before the root file system, so they come first.
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
          .read_only = mount.read_only,
          .options = mount.options};
}

// Drops mounts that a later one on the same point, or on a folder above it, hides.
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
  TRY_ASSIGN(const auto directory, root.open(point, O_PATH | O_CLOEXEC));
  struct statfs raw = {};
  if (::fstatfs(directory.get(), &raw) != 0) return os_error("statfs", point, errno);
  return space_of(raw);
}

using Devices = std::map<std::string, std::string>;  // device number by mount point

// The kernel's number of each mounted file system, which identifies it across runs: "36 35 98:0
// /subfolder /mnt …". A foreign root does not have it.
Devices read_devices(const Root& root) {
  Devices devices;
  const auto text = root.read("/proc/self/mountinfo", kLargestMounts);
  if (!text) return devices;
  for (const auto line : split_lines(*text)) {
    const auto fields = split(line, ' ');
    if (fields.size() > 4) devices[unescape_mount(fields[4])] = fields[2];
  }
  return devices;
}

// The announced work of a child for one file system, by its number if that is known.
std::string work_on(const Root& root, const Devices& devices, const std::string& point) {
  constexpr std::size_t kLongest = 200;  // of announced work
  const auto device = devices.find(point);
  if (device != devices.end()) return fmt::format("mount {}", device->second);
  return fmt::format("mount {}{}", root.path().native(), point).substr(0, kLongest);
}

// Marks the mounts in which an earlier child still hangs, so that they are skipped.
void mark_hung(const Root& root, const std::vector<LeftBehind>& left, Mounts& mounts) {
  if (left.empty()) return;
  const Devices devices = read_devices(root);
  for (auto& mount : mounts.mounts) {
    const auto work = work_on(root, devices, mount.point);
    const auto found = std::ranges::find(left, work, &LeftBehind::work);
    if (found == left.end()) continue;
    mount.hung = true;
    mount.hung_for_s = found->for_s;
    mount.space = make_error("not asked: an earlier muster (pid {}) hangs in it", found->pid);
  }
}

void ask_all(const Root& root, std::chrono::milliseconds deadline, Mounts& mounts) {
  std::vector<Mount*> asked;
  std::vector<std::string> points;
  for (auto& mount : mounts.mounts) {
    if (mount.hung) continue;
    asked.push_back(&mount);
    points.push_back(mount.point);
  }
  const auto ask = [&](const std::string& point) { return read_space(root, point); };
  const auto announce_and_ask = [&](const std::string& point) {
    announce_work(work_on(root, read_devices(root), point));
    return ask(point);
  };
  auto answers = ask_spaces(points, deadline, ask, announce_and_ask);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    asked[i]->hung = answers[i].hung;
    asked[i]->unasked = answers[i].unasked;
    asked[i]->space = std::move(answers[i].space);
  }
}

// A user's mount, or one on a server, may answer one call and hang in the next.
bool is_local(const Mount& mount) {
  return !mount.user && !mount.type.starts_with("fuse") &&
         mount.source.find(':') == std::string::npos;
}

// Finds the local file systems with folders that every user may fill; /home has the users' own.
void find_folders_of_users(const Root& root, Mounts& mounts) {
  std::map<std::string_view, Mount*> by_point;
  for (auto& mount : mounts.mounts) by_point[mount.point] = &mount;
  const auto mount_of = [&](std::string_view folder) -> Mount* {
    for (;; folder = folder.substr(0, folder.rfind('/'))) {
      const auto found = by_point.find(folder.empty() ? "/" : folder);
      if (found != by_point.end()) return found->second;
      if (folder.empty()) return nullptr;
    }
  };
  const auto look = [&](std::string_view folder, Mount* mount) {
    if (mount == nullptr || !mount->space || mount->users_write || !is_local(*mount)) return;
    const auto status = read_status(root, folder);
    if (!status || !S_ISDIR(status->st_mode)) return;
    if ((status->st_mode & S_IWOTH) != 0 || folder == "/home") {
      mount->users_write = printable(folder);
    }
  };
  for (auto& mount : mounts.mounts) look(mount.point, &mount);
  for (const std::string_view folder : {"/tmp", "/var/tmp", "/home"})
    look(folder, mount_of(folder));
}

}  // namespace

Space space_of(const struct statfs& status) {
  const auto unit =
      static_cast<std::uint64_t>(status.f_frsize > 0 ? status.f_frsize : status.f_bsize);
  return {.total_bytes = status.f_blocks * unit,
          .available_bytes = status.f_bavail * unit,
          .used_bytes = (status.f_blocks - std::min(status.f_bfree, status.f_blocks)) * unit,
          .inodes_total = status.f_files,
          .inodes_free = status.f_ffree};
}

std::vector<Mount> ask_spaces(const std::vector<std::string>& points,
                              std::chrono::milliseconds deadline, const AskSpace& ask,
                              const AskSpace& announce_and_ask) {
  if (points.empty()) return {};
  auto result = ask_in_one_child(points, deadline, ask);
  if (!result.empty()) return result;

  result.assign(
      points.size(),
      {.unasked = true, .space = make_error("not asked: too many other mounts did not answer")});
  const std::span<const std::string> all(points);
  const std::span<Mount> answers(result);
  std::size_t from = 0;
  for (int batch = 0; batch < kMaxBatches && from < all.size(); ++batch) {
    const auto count = std::min(kAtOnce, all.size() - from);
    ask_one_by_one(all.subspan(from, count), deadline, announce_and_ask,
                   answers.subspan(from, count));
    from += count;
  }
  return result;
}

Section<Mounts> probe_mounts(const Root& root, std::chrono::milliseconds statfs_deadline,
                             const std::vector<LeftBehind>& left) {
  auto all = read_mounts(root);
  if (!all) return not_observed<Mounts>(all.error().message);

  Mounts result = visible(*std::move(all));
  mark_hung(root, left, result);
  ask_all(root, statfs_deadline, result);
  find_folders_of_users(root, result);
  for (auto& mount : result.mounts) {
    // Mount points below a foreign root need not exist; on a live node such a mount is broken.
    if (mount.space.is_absent() && !root.foreign()) {
      mount.space = make_error(mount.space.why());
    }
    mount.point = printable(mount.point);
  }
  return observed(std::move(result));
}

}  // namespace muster
