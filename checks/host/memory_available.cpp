// SPDX-License-Identifier: Apache-2.0
// host.memory_available: enough memory is free for the next job.

#include <fmt/format.h>

#include <optional>
#include <string>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_memory_available {
namespace {

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  if (!profile.host->memory_available.warn_below) return not_limited("the available memory");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const Limit<Percent>& limit = profile.host->memory_available.warn_below;
  const Memory& memory = *snapshot.memory;
  if (!memory.total_bytes) return {not_known(kNode, "the memory size", memory.total_bytes)};
  if (!memory.available_bytes)
    return {not_known(kNode, "the available memory", memory.available_bytes)};
  if (*memory.total_bytes == 0) {
    return {not_known(kNode, "the memory size", Fact<std::uint64_t>::unreadable("MemTotal is 0"))};
  }

  const auto available = static_cast<double>(*memory.available_bytes);
  const double percent = 100.0 * available / static_cast<double>(*memory.total_bytes);
  const std::string seen =
      fmt::format("{} of memory available, {:.1f}% of all", in_gib(available), percent);
  if (percent < limit->value) {
    return {warned(kNode, fmt::format("{}; expected at least {:g}%", seen, limit->value),
                   Remedy::watch, {percent, limit->value, "%"})};
  }
  return {passed(seen)};
}

}  // namespace

constinit const Check check{
    .id = "host.memory_available",
    .title = "Enough memory is available for the next job",
    .why =
        "Compares MemAvailable (free memory and caches that can be dropped) with a share of all "
        "memory. An idle node that is short of it holds something back: a process left behind, "
        "files in tmpfs or /dev/shm, huge pages, or a leak in the kernel.",
    .fix =
        "Find who holds it: ps aux --sort=-rss, du -sh /dev/shm /tmp, slabtop. Remove what a job "
        "left behind; reboot when nobody can be named.",
    .needs = Probe::memory,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_memory_available
