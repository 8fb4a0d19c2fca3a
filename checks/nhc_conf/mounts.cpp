// SPDX-License-Identifier: Apache-2.0
// check_fs_mount and its two narrower forms.
#include "checks/nhc_conf/mounts.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/options.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

using Words = std::vector<std::string>;

struct Wanted {
  Words points, automatic;       // mount points; those that come when they are touched
  Words sources, types, states;  // match strings
  bool fatal = true;
  std::string left_out;  // what muster does not do: options that change the node
};

// What NHC's own two forms ask of the options.
constexpr std::string_view kWritable = "/(^|,)rw($|,)/";
constexpr std::string_view kReadOnly = "/(^|,)ro($|,)/";
constexpr std::string_view kAnyState;

Result<Wanted> wanted_of(const Arguments& arguments) {
  Wanted wanted;
  if (argument(arguments, 0).starts_with('/')) {
    wanted.points = {arguments[0]};
    for (const auto& [index, words] : {std::pair{1U, &wanted.sources}, std::pair{2U, &wanted.types},
                                       std::pair{3U, &wanted.states}}) {
      const auto word = argument(arguments, index);
      if (!word.empty()) words->emplace_back(word);
    }
    return wanted;
  }
  TRY_ASSIGN(auto options, read_options(arguments, "0rE:F:O:e:f:o:s:t:"));
  wanted.points = options.values('f');
  for (auto& word : options.rest) wanted.points.push_back(std::move(word));
  wanted.automatic = options.values('F');
  wanted.sources = options.values('s');
  wanted.types = options.values('t');
  wanted.states = options.values('o');
  wanted.fatal = !options.has('0');
  for (const char letter : {'r', 'e', 'E'}) {
    if (options.has(letter)) wanted.left_out += fmt::format(" -{}", letter);
  }
  if (wanted.points.empty() && wanted.automatic.empty()) {
    return make_error("no mount point is named");
  }
  return wanted;
}

Finding wrong(const Mount& mount, std::string message, Value observed, Value limit) {
  return compared(checks::failed(printable(mount.point), std::move(message), Remedy::fix_config),
                  std::move(observed), std::move(limit));
}

// The first match string that does not hold, as a finding.
Findings mismatch(const Mount& mount, std::string_view what, const std::string& seen,
                  const Words& expressions) {
  for (const auto& expression : expressions) {
    const auto found = matches(expression, seen);
    if (!found) return {not_judged(found.error().message, mount.point)};
    if (*found) continue;
    return {wrong(mount,
                  fmt::format("{} is mounted {} {}, wanted {}", printable(mount.point), what,
                              printable(seen), printable(expression, 80)),
                  seen, expression)};
  }
  return {};
}

// Whether a match string of the options asks for read-only; nothing where it asks for another one.
std::optional<bool> asks_read_only(std::string_view expression) {
  const bool negated = expression.starts_with('!');
  if (negated) expression.remove_prefix(1);
  if (expression != kWritable && expression != kReadOnly) return std::nullopt;
  return (expression == kReadOnly) != negated;
}

// The options as proc/mounts lists them. Snapshots of earlier versions tell only rw and ro.
Findings other_state(const Mount& mount, const Words& expressions) {
  if (mount.options) {
    const auto options = fmt::format("{}", fmt::join(*mount.options, ","));
    return mismatch(mount, "with", options, expressions);
  }
  const auto words = [](bool read_only) { return read_only ? "read-only" : "writable"; };
  for (const auto& expression : expressions) {
    const auto read_only = asks_read_only(expression);
    if (!read_only) {
      return {not_judged("of the options of mounts only rw and ro are observed", mount.point)};
    }
    if (*read_only == mount.read_only) continue;
    return {wrong(mount,
                  fmt::format("{} is mounted {}, wanted {}", printable(mount.point),
                              words(mount.read_only), words(*read_only)),
                  mount.read_only ? "ro" : "rw", *read_only ? "ro" : "rw")};
  }
  return {};
}

// What NHC would find in proc/mounts, be it the kernel's or the automounter's.
std::optional<Mount> any_mount_at(const Snapshot& snapshot, const std::string& point) {
  if (const Mount* mount = mount_at(snapshot, point); mount != nullptr) return *mount;
  const auto& kernel = snapshot.mounts->kernel;
  if (!kernel) return std::nullopt;
  const auto found = std::ranges::find(*kernel, point, &KernelMount::point);
  if (found == kernel->end()) return std::nullopt;
  return Mount{.point = found->point,
               .type = found->type,
               .source = found->source,
               .read_only = found->read_only,
               .options = found->options};
}

// Snapshots of earlier versions leave out file systems that hold no data.
bool may_be_unseen(const std::string& point, const Words& types) {
  constexpr std::array<std::string_view, 4> kKernels{"/proc", "/sys", "/dev", "/run"};
  const bool in_memory = point == "/run" || point == "/dev/shm";  // of type tmpfs, which is seen
  const bool kernels = !in_memory && std::ranges::any_of(kKernels, [&](std::string_view folder) {
    return point == folder || point.starts_with(fmt::format("{}/", folder));
  });
  constexpr std::array<std::string_view, 7> kPseudo{"autofs", "cgroup", "cgroup2",   "hugetlbfs",
                                                    "nfsd",   "ramfs",  "rpc_pipefs"};
  return kernels || std::ranges::any_of(types, [&](const std::string& type) {
           return std::ranges::find(kPseudo, type) != kPseudo.end();
         });
}

Findings judge_point(const Snapshot& snapshot, const Wanted& wanted, const std::string& point) {
  const auto unused = not_judged(
      fmt::format("{} is mounted when it is used, and nobody has used it", printable(point)),
      printable(point));
  const auto mount = any_mount_at(snapshot, point);
  if (mount) {
    for (const auto& findings :
         {mismatch(*mount, "from", mount->source, wanted.sources),
          mismatch(*mount, "as", mount->type, wanted.types), other_state(*mount, wanted.states)}) {
      if (findings.empty()) continue;
      return mount->type == "autofs" ? Findings{unused} : findings;
    }
    // Whether it can be written is for what will be mounted there.
    if (mount->type == "autofs" && !wanted.states.empty()) return {unused};
    return {checks::passed(
        fmt::format("{} is mounted ({} from {}, {})", printable(point), printable(mount->type),
                    printable(mount->source), mount->read_only ? "read-only" : "writable"),
        printable(point))};
  }
  if (snapshot.mounts->automount_of(point) != nullptr) return {unused};
  if (!snapshot.mounts->kernel && may_be_unseen(point, wanted.types)) {
    return {not_judged(
        fmt::format("file systems that hold no data are not observed, as {}", printable(point)),
        point)};
  }
  return {wrong({.point = point}, fmt::format("{} is not mounted", printable(point)), false, true)};
}

Findings judge_automatic(const Snapshot& snapshot, const Wanted& wanted, const std::string& point) {
  if (mount_at(snapshot, point) != nullptr) return judge_point(snapshot, wanted, point);
  return {not_judged(
      fmt::format("{} is not mounted, and muster does not make it be", printable(point)), point)};
}

Findings judge_all(const Snapshot& snapshot, const Wanted& wanted) {
  Findings findings;
  const auto take = [&](Findings more) { std::ranges::move(more, std::back_inserter(findings)); };
  for (const auto& point : wanted.points) take(judge_point(snapshot, wanted, point));
  for (const auto& point : wanted.automatic) take(judge_automatic(snapshot, wanted, point));
  for (auto& finding : findings) {
    if (!wanted.fatal && finding.outcome == Outcome::fail) finding.outcome = Outcome::warn;
    if (!wanted.left_out.empty()) {
      finding.message += fmt::format(" (not carried out:{})", wanted.left_out);
    }
  }
  return findings;
}

template <const std::string_view& kState>
Findings judge_mount(const Snapshot& snapshot, const Arguments& arguments) {
  auto wanted = wanted_of(arguments);
  if (!wanted) return {not_judged(wanted.error().message)};
  if (!kState.empty()) wanted->states.emplace_back(kState);
  return judge_all(snapshot, *wanted);
}

}  // namespace

const Mount* mount_at(const Snapshot& snapshot, std::string_view point) {
  const Mount* found = nullptr;
  for (const auto& mount : snapshot.mounts->mounts) {
    if (mount.point == point) found = &mount;
  }
  return found;
}

std::vector<Row> mount_rows() {
  return {judged("check_fs_mount", judge_mount<kAnyState>, Probe::mounts, 1),
          judged("check_fs_mount_rw", judge_mount<kWritable>, Probe::mounts, 1),
          judged("check_fs_mount_ro", judge_mount<kReadOnly>, Probe::mounts, 1)};
}

}  // namespace muster::nhc
