// SPDX-License-Identifier: Apache-2.0
// The active units of systemd, from the processes in control groups and the links that systemd
// keeps for each active unit.

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

// The unified hierarchy, and systemd's own if controllers are mounted separately.
constexpr std::array<std::string_view, 3> kSlices{"/sys/fs/cgroup/system.slice",
                                                  "/sys/fs/cgroup/unified/system.slice",
                                                  "/sys/fs/cgroup/systemd/system.slice"};
constexpr std::string_view kUnits = "/run/systemd/units";
constexpr std::size_t kFirstPid = 64;  // bytes for the first line of cgroup.procs
constexpr int kDeepestGroup = 10;      // container engines nest about four groups
constexpr int kMaxGroups = 20000;

struct FoundUnits {
  std::set<std::string> active;
  std::vector<std::string> of_root;
  std::map<std::string, std::string> undecided;  // unit and reason
  int groups_left = kMaxGroups;
};

bool is_unit(std::string_view name) {
  constexpr std::array<std::string_view, 5> kKinds{".service", ".scope", ".socket", ".mount",
                                                   ".swap"};
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [&](std::string_view kind) { return name.ends_with(kind); });
}

using Process = std::optional<std::uint64_t>;

// Returns a process in the group or in a group below it; missing if the group is gone. A process in
// another namespace has the number 0.
Result<Process> first_process(const Root& root, const std::string& group, FoundUnits& found,
                              int depth) {
  const auto path = fmt::format("{}/cgroup.procs", group);
  TRY_ASSIGN(const auto head, read_head(root, path, kFirstPid));
  if (--found.groups_left < 0) {
    return make_error("more than {} control groups", kMaxGroups);
  }
  if (!head.empty()) {
    const auto pid = parse_unsigned(std::string_view(head).substr(0, head.find('\n')));
    if (!pid) return make_error("read {}: {}", path, pid.error().message);
    return Process(*pid);
  }
  if (depth == 0) return make_error("{}: control groups nested too deep", group);
  TRY_ASSIGN(const auto names, root.list(group));
  for (const auto& name : names) {
    auto below = first_process(root, fmt::format("{}/{}", group, name), found, depth - 1);
    if (!below && below.error().missing) continue;  // an attribute of the group, or gone
    if (!below || *below) return below;
  }
  return Process();
}

// A process's folder belongs to its effective user.
bool acts_as_root(const Root& root, std::uint64_t pid) {
  const auto status = read_status(root, fmt::format("/proc/{}", pid), O_DIRECTORY);
  return status && status->st_uid == 0;
}

void examine_unit(const Root& root, const std::string& slice, const std::string& unit,
                  FoundUnits& found) {
  const auto group = fmt::format("{}/{}", slice, unit);
  const auto process = first_process(root, group, found, kDeepestGroup);
  if (process && *process) {
    found.active.insert(unit);
    if (acts_as_root(root, **process)) found.of_root.push_back(printable(unit));
  } else if (!process && (!process.error().missing || root.exists(group))) {
    found.undecided.emplace(unit, process.error().message);
  }
}

// Instances of a template are in a slice within the slice.
Result<void> examine_slice(const Root& root, const std::string& slice, FoundUnits& found,
                           int depth) {
  TRY_ASSIGN(const auto names, root.list(slice));
  for (const auto& name : names) {
    if (is_unit(name)) examine_unit(root, slice, name, found);
    if (!name.ends_with(".slice") || depth == 0) continue;
    auto nested = examine_slice(root, fmt::format("{}/{}", slice, name), found, depth - 1);
    if (!nested && !nested.error().missing) return nested;
  }
  return {};
}

// A link "invocation:<unit>" exists while a unit is active, with or without processes.
Result<void> read_invocations(const Root& root, FoundUnits& found) {
  constexpr std::string_view kPrefix = "invocation:";
  TRY_ASSIGN(const auto names, root.list(kUnits));
  for (const auto& name : names) {
    if (name.starts_with(kPrefix)) found.active.insert(name.substr(kPrefix.size()));
  }
  return {};
}

// The existence of this folder is the documented test for systemd.
Error without_systemd(const Root& root, const Error& why) {
  constexpr std::string_view kBooted = "/run/systemd/system";
  if (root.exists(kBooted)) return {.message = why.message};
  return {.message = "systemd does not run this node", .missing = true};
}

Result<std::vector<std::string>> list_active(const FoundUnits& found) {
  for (const auto& [unit, why] : found.undecided) {
    if (!found.active.contains(unit)) return make_error(why);
  }
  std::vector<std::string> result;
  for (const auto& unit : found.active) result.push_back(printable(unit));
  return result;
}

Result<std::vector<std::string>> read_active(const Root& root, FoundUnits& found) {
  Result<void> groups = make_missing("systemd does not run this node");
  for (const auto slice : kSlices) {
    groups = examine_slice(root, std::string(slice), found, kDeepestGroup);
    if (groups || !groups.error().missing) break;
  }
  if (!groups && !groups.error().missing) return tl::unexpected(groups.error());
  const auto invocations = read_invocations(root, found);
  if (!invocations && !invocations.error().missing) return tl::unexpected(invocations.error());

  if (!groups && !invocations) return tl::unexpected(without_systemd(root, groups.error()));
  return list_active(found);
}

}  // namespace

Section<Services> probe_services(const Root& root) {
  Services services;
  FoundUnits found;
  services.active = read_active(root, found);
  if (services.active) {
    std::ranges::sort(found.of_root);
    services.of_root = std::move(found.of_root);
  }
  services.failed = make_missing("systemd writes the units that have failed into no file");
  return observed(std::move(services));
}

}  // namespace muster
