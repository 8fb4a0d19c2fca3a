// SPDX-License-Identifier: Apache-2.0
#include "checks/shared/starved.hpp"

#include <fmt/format.h>

#include <string>

#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// These read a few files of the kernel: only overload delays them.
constexpr ProbeSet kPlainFiles = Probe::identity | Probe::cpu | Probe::memory | Probe::kernel;

constexpr double kRunnablePerCpu = 4;    // a full node has one
constexpr double kAvailablePercent = 1;  // with less, every program waits for its own pages

// Why the node lacks CPUs or memory; empty if it does not.
std::string overload_reason(const Snapshot& snapshot) {
  std::string late;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (kPlainFiles.contains(probe) && section.status == Status::timeout) late = to_string(probe);
  });
  if (!late.empty()) return fmt::format("the {} probe timed out as well", late);
  const auto& running = snapshot.processes->running;
  const auto cpus = static_cast<double>(snapshot.cpu->threads.value_or(0));
  if (running && cpus > 0 && static_cast<double>(*running) > kRunnablePerCpu * cpus) {
    return fmt::format("{} on {:.0f} CPUs", counted(*running, "runnable task"), cpus);
  }
  const auto& memory = *snapshot.memory;
  if (memory.available_bytes && memory.total_bytes &&
      static_cast<double>(*memory.available_bytes) * 100 <
          kAvailablePercent * static_cast<double>(*memory.total_bytes)) {
    return fmt::format("{} of memory available",
                       in_gib(static_cast<double>(*memory.available_bytes)));
  }
  return {};
}

}  // namespace

void leave_undecided(const Snapshot& snapshot, Finding& finding) {
  const std::string why = overload_reason(snapshot);
  if (why.empty() || finding.outcome != Outcome::fail) return;
  finding.outcome = Outcome::unknown;
  finding.remedy = Remedy::watch;
  finding.message.append(fmt::format("; the node is overloaded: {}", why));
}

}  // namespace muster::checks
