// SPDX-License-Identifier: Apache-2.0
// The running kernel: release, command line, sysctls, modules, the limits of the process that
// starts jobs, the clock, EDAC counters and thermal zones.

#include <fmt/format.h>
#include <sys/timex.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kJobStarter = "slurmd";
constexpr std::string_view kJobStarterGroup =
    "/sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs";
constexpr std::string_view kEdac = "/sys/devices/system/edac/mc";

// "vm.zone_reclaim_mode" to "/proc/sys/vm/zone_reclaim_mode". A key with a slash is already a path,
// because names of interfaces may contain dots. Empty if the key is invalid.
std::string sysctl_path(std::string_view key) {
  std::string path(key);
  if (path.find('/') == std::string::npos) std::replace(path.begin(), path.end(), '.', '/');
  for (const auto part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return {};
  }
  return fmt::format("/proc/sys/{}", path);
}

Fact<std::string> read_sysctl(const Root& root, std::string_view key) {
  const std::string path = sysctl_path(key);
  if (path.empty()) return make_error("\"{}\" is not a sysctl key", printable(key));
  return read_filled(root, path).map([](const std::string& text) {
    return printable(fmt::format("{}", fmt::join(split_words(text), " ")));
  });
}

// "always [madvise] never": the word in brackets is the current one.
Fact<std::string> read_transparent_hugepage(const Root& root) {
  constexpr std::string_view kPath = "/sys/kernel/mm/transparent_hugepage/enabled";
  TRY_ASSIGN(const auto text, root.read_line(kPath));
  const auto open = text.find('[');
  const auto close = text.find(']');
  if (open == std::string::npos || close == std::string::npos || close <= open + 1) {
    return make_error("read {}: no word is selected in \"{}\"", kPath, printable(text));
  }
  return printable(text.substr(open + 1, close - open - 1));
}

// A kernel that was started without parameters has an empty line.
Fact<std::string> read_command_line(const Root& root) {
  constexpr std::size_t kMaxLength = 4096;
  return read_filled(root, "/proc/cmdline").map([](const std::string& text) {
    return printable(trim(text), kMaxLength);
  });
}

// Checks the real user id, because a set-uid program keeps the id of the user who started it. A
// recorded node may lack the file.
bool started_by_root(const Root& root, std::uint64_t pid) {
  const auto user = read_user(root, fmt::format("/proc/{}", pid));
  return user ? *user == 0 : user.error().missing && root.foreign();
}

// The processes with the name of the job starter, which any process can assume.
std::vector<std::uint64_t> named_job_starter(const Root& root,
                                             const std::vector<std::string_view>& names) {
  std::vector<std::uint64_t> pids;
  for (const auto name : names) {
    const auto pid = parse_unsigned(name);
    if (!pid) continue;
    const auto command = root.read_line(fmt::format("/proc/{}/comm", *pid));
    if (command && *command == kJobStarter) pids.push_back(*pid);
  }
  std::ranges::sort(pids);
  return pids;
}

std::optional<std::uint64_t> first_of_root(const Root& root,
                                           const std::vector<std::uint64_t>& pids) {
  const auto found =
      std::ranges::find_if(pids, [&](auto pid) { return started_by_root(root, pid); });
  if (found == pids.end()) return std::nullopt;
  return *found;
}

// Finds slurmd in its unit's list of processes or, without systemd, among all processes. In its
// unit it may run as another user (SlurmdUser).
std::optional<std::uint64_t> find_job_starter(const Root& root) {
  if (const auto group = root.read(kJobStarterGroup)) {
    const auto pids = named_job_starter(root, split_words(*group));
    if (const auto pid = first_of_root(root, pids)) return pid;
    if (!pids.empty()) return pids.front();
  }
  const auto processes = root.list("proc", kMaxProcesses);
  if (!processes) return std::nullopt;
  return first_of_root(root, named_job_starter(root, {processes->begin(), processes->end()}));
}

// "Max locked memory         unlimited            unlimited            bytes": the soft limit.
Fact<std::string> soft_limit(std::string_view limits, std::string_view name,
                             std::string_view path) {
  for (const auto line : split_lines(limits)) {
    if (!line.starts_with(name)) continue;
    const auto words = split_words(line.substr(name.size()));
    if (words.size() >= 2 && (words[0] == "unlimited" || parse_unsigned(words[0])))
      return std::string(words[0]);
    return make_error("read {}: \"{}\" has no soft limit", path, printable(line));
  }
  return make_error("read {}: no line \"{}\"", path, name);
}

Limits read_limits(const Root& root) {
  const auto starter = find_job_starter(root);
  if (!starter && root.foreign()) {
    const auto unset = make_missing("no slurmd among the processes below this root");
    return {.process = {}, .memlock_bytes = unset, .open_files = unset};
  }
  const std::string path = starter ? fmt::format("/proc/{}/limits", *starter) : "/proc/self/limits";
  Limits limits;
  limits.process =
      starter ? fmt::format("{} ({})", kJobStarter, *starter) : std::string(kOwnLimits);
  const auto text = root.read(path);
  if (!text) {
    // Every process has this file, so the limits are unknown, not absent.
    limits.memlock_bytes = make_error(text.error().message);
    limits.open_files = limits.memlock_bytes;
    return limits;
  }
  limits.memlock_bytes = soft_limit(*text, "Max locked memory", path);
  // slurmd may have the capability too, but the jobs that it starts as their users do not.
  if (!starter && has_ipc_lock(root)) limits.memlock_bytes = std::string("unlimited");
  limits.open_files = soft_limit(*text, "Max open files", path);
  return limits;
}

Fact<TimeSync> read_clock(const Root& root) {
  if (root.foreign())
    return make_missing("it is not in a file, so it cannot be read below a foreign root");
  timex state{};  // modes 0: query only
  if (::adjtimex(&state) < 0) return make_error("adjtimex: {}", errno_text(errno));
  return TimeSync{.synchronised = (static_cast<unsigned>(state.status) &
                                   static_cast<unsigned>(STA_UNSYNC)) == 0,
                  .estimated_error_s = static_cast<double>(state.esterror) * 1e-6};
}

Fact<std::vector<EdacController>> read_edac(const Root& root) {
  TRY_ASSIGN(const auto names, root.list(kEdac));
  std::vector<EdacController> controllers;
  for (const auto& name : names) {
    // The folder also has "power" and "uevent".
    if (!name.starts_with("mc") || !parse_unsigned(std::string_view(name).substr(2))) continue;
    controllers.push_back(
        {.name = name,
         .corrected = read_unsigned(root, fmt::format("{}/{}/ce_count", kEdac, name)),
         .uncorrected = read_unsigned(root, fmt::format("{}/{}/ue_count", kEdac, name))});
  }
  if (controllers.empty())
    return make_missing("no EDAC driver is loaded for this memory controller");
  return controllers;
}

constexpr std::string_view kZones = "/sys/class/thermal";
constexpr double kPerDegree = 1000;  // the files are in thousandths of a degree

// The first trip point of a type, if the zone has one.
Fact<double> read_trip(const Root& root, const std::string& folder, std::string_view type) {
  constexpr int kMaxTrips = 16;
  for (int i = 0; i < kMaxTrips; ++i) {
    const auto point = fmt::format("{}/trip_point_{}", folder, i);
    const auto found = read_text(root, fmt::format("{}_type", point));
    if (!found && found.error().missing) break;
    if (!found) return tl::unexpected(found.error());
    if (*found == type) return read_scaled(root, fmt::format("{}_temp", point), kPerDegree);
  }
  return make_missing("the zone has no {} trip point", type);
}

Fact<std::vector<ThermalZone>> read_thermal_zones(const Root& root) {
  TRY_ASSIGN(const auto names, root.list(kZones));
  std::vector<ThermalZone> zones;
  for (const auto& name : names) {
    if (!name.starts_with("thermal_zone")) continue;
    const auto folder = fmt::format("{}/{}", kZones, name);
    const auto type = read_text(root, fmt::format("{}/type", folder));
    zones.push_back({.name = type ? fmt::format("{} ({})", name, *type) : name,
                     .now_c = read_scaled(root, fmt::format("{}/temp", folder), kPerDegree),
                     .critical_c = read_trip(root, folder, "critical"),
                     .hot_c = read_trip(root, folder, "hot")});
  }
  if (zones.empty()) return make_missing("no zone in {}", kZones);
  return zones;
}

}  // namespace

Section<Kernel> probe_kernel(const Root& root, const std::vector<std::string>& sysctls) {
  Kernel kernel;
  kernel.release = read_text(root, "/proc/sys/kernel/osrelease");
  kernel.command_line = read_command_line(root);
  for (const auto& key : sysctls) kernel.sysctl[key] = read_sysctl(root, key);
  kernel.transparent_hugepage = read_transparent_hugepage(root);
  kernel.modules = root.list("/sys/module");
  kernel.limits = read_limits(root);
  kernel.clock = read_clock(root);
  kernel.clocksource =
      read_text(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  kernel.edac = read_edac(root);
  kernel.thermal_zones = read_thermal_zones(root);
  return observed(std::move(kernel));
}

}  // namespace muster
