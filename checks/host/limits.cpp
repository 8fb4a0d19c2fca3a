// SPDX-License-Identifier: Apache-2.0
// host.limits: the process that starts jobs may lock memory and open enough files.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_limits {
namespace {

constexpr std::string_view kUnlimited = "unlimited";

// Without a process that starts jobs, muster's own limits are judged, which may differ from those
// of jobs.
Finding too_low(const Limits& seen, std::string_view device, std::string message, Values values) {
  if (seen.process != kOwnLimits)
    return failed(device, std::move(message), Remedy::fix_config, std::move(values));
  return warned(device, fmt::format("no process that starts jobs found, and {}", message),
                Remedy::fix_config, std::move(values));
}

// Calls `judge` for a numeric limit.
template <class Judge>
std::optional<Finding> judge_number(const Snapshot& snapshot, std::string_view device,
                                    const Fact<std::string>& limit, const Judge& judge) {
  const std::string what = fmt::format("the limit of {}", device);
  if (!limit) return not_known_here(snapshot, device, what, limit);
  if (*limit == kUnlimited) return std::nullopt;
  if (const auto number = parse_unsigned(*limit)) return judge(*number);
  return not_known(
      device, what,
      Fact<std::string>::unreadable(fmt::format("\"{}\" is not a number", printable(*limit))));
}

std::optional<Finding> judge_memlock(const Snapshot& snapshot) {
  constexpr std::string_view kDevice = "locked memory";
  const Limits& seen = snapshot.kernel->limits;
  return judge_number(snapshot, kDevice, seen.memlock_bytes, [&](std::uint64_t bytes) {
    return too_low(seen, kDevice,
                   fmt::format("{} may lock {} KiB of memory, expected unlimited",
                               printable(seen.process), bytes / 1024),
                   {count_value(bytes), std::string(kUnlimited), "B"});
  });
}

std::optional<Finding> judge_open_files(const Snapshot& snapshot, int least) {
  constexpr std::string_view kDevice = "open files";
  const Limits& seen = snapshot.kernel->limits;
  return judge_number(
      snapshot, kDevice, seen.open_files, [&](std::uint64_t files) -> std::optional<Finding> {
        if (static_cast<std::int64_t>(std::min<std::uint64_t>(files, INT64_MAX)) >= least)
          return std::nullopt;
        return too_low(seen, kDevice,
                       fmt::format("{} may open {}, expected at least {}", printable(seen.process),
                                   counted(files, "file"), least),
                       {count_value(files), least, "files"});
      });
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const ResourceLimits& limits = profile.host->limits;

  Findings findings;
  if (limits.memlock_unlimited) append(findings, judge_memlock(snapshot));
  if (limits.open_files_min) append(findings, judge_open_files(snapshot, *limits.open_files_min));
  return or_pass(std::move(findings), fmt::format("resource limits of {} as expected",
                                                  printable(snapshot.kernel->limits.process)));
}

}  // namespace

constinit const Check check{
    .id = "host.limits",
    .title = "Jobs may lock memory and open enough files",
    .why =
        "Reads the resource limits of the process that starts jobs (slurmd), which jobs inherit. "
        "RDMA registers memory by locking it: with a limit, InfiniBand programs fail to start or "
        "fall back to TCP. Programs with many ranks or data files run out of open files. If no "
        "such process runs, muster's own limits are judged, and only warn.",
    .fix =
        "For jobs of Slurm set LimitMEMLOCK=infinity and LimitNOFILE= in slurmd's unit (systemctl "
        "edit slurmd) and restart slurmd; for logins set memlock and nofile in "
        "/etc/security/limits.d.",
    .needs = Probe::kernel | Probe::identity,
    .not_here =
        [](const Snapshot&, const Profile& profile) {
          const ResourceLimits& limits = profile.host->limits;
          return unless(limits.memlock_unlimited || limits.open_files_min,
                        not_expected("resource limits"));
        },
    .judge = judge,
};

}  // namespace muster::checks::host_limits
