// SPDX-License-Identifier: Apache-2.0
// check_fs_size, _free and _used, and the same of inodes, reckoned as df does.
#include <cmath>
#include <optional>

#include "checks/nhc_conf/mounts.hpp"
#include "checks/nhc_conf/size.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

// The bytes or the inodes of a file system.
struct Usage {
  ParseAmount parse;
  double total = 0, used = 0, available = 0;

  // df rounds up.
  [[nodiscard]] double used_percent() const { return std::ceil(100 * used / (used + available)); }

  [[nodiscard]] std::string words(double amount) const {
    if (parse == parse_count) return fmt::format("{:.0f} inodes", amount);
    return size_in_words(amount);
  }
};

Usage bytes_of(const Space& space) {
  return {.parse = parse_size,
          .total = static_cast<double>(space.total_bytes),
          .used = static_cast<double>(space.used_bytes),
          .available = static_cast<double>(space.available_bytes)};
}

Usage inodes_of(const Space& space) {
  const auto total = static_cast<double>(space.inodes_total);
  const auto free = static_cast<double>(space.inodes_free);
  return {.parse = parse_count, .total = total, .used = total - free, .available = free};
}

using Reckon = Usage (*)(const Space&);

struct Subject {
  std::string point;
  Usage usage;
};

// Calls `judge` where there is something to judge. Where nothing is mounted, and on file systems
// without space, NHC passes; muster skips and says why.
template <class Rule>
Findings on_mount(const Snapshot& snapshot, const Arguments& arguments, Reckon usage_of,
                  const Rule& judge) {
  const std::string point = printable(argument(arguments, 0));
  const Mount* mount = mount_at(snapshot, argument(arguments, 0));
  const auto skipped = [&](std::string why) {
    return Findings{{.device = point, .outcome = Outcome::skip, .message = std::move(why)}};
  };
  if (mount == nullptr) return skipped(fmt::format("nothing is mounted on {}", point));
  if (mount->hung) {
    return {
        checks::failed(point, fmt::format("{} did not answer", point), Remedy::restart_service)};
  }
  if (!mount->space) {
    return {checks::not_known(point, fmt::format("the space of {}", point), mount->space)};
  }
  const Subject subject{.point = point, .usage = usage_of(*mount->space)};
  if (subject.usage.total <= 0) return skipped(fmt::format("{} counts none", point));
  Result<Finding> finding = judge(subject);
  if (!finding) return {not_judged(finding.error().message, point)};
  return {std::move(*finding)};
}

// The limit that a total misses, and which way.
struct Missed {
  double limit = 0;
  bool low = false;
};

Result<std::optional<Missed>> missed_by(const Usage& usage, const Arguments& arguments) {
  for (const bool low : {true, false}) {
    const auto word = argument(arguments, low ? 1 : 2);
    if (word.empty()) continue;
    TRY_ASSIGN(const auto limit, usage.parse(word));
    const bool well = low ? usage.total >= limit : usage.total <= limit;
    if (!well) return Missed{.limit = limit, .low = low};
  }
  return std::nullopt;
}

template <Reckon kUsageOf>
Findings judge_total(const Snapshot& snapshot, const Arguments& arguments) {
  return on_mount(snapshot, arguments, kUsageOf, [&](const Subject& subject) -> Result<Finding> {
    const auto& usage = subject.usage;
    TRY_ASSIGN(const auto missed, missed_by(usage, arguments));
    auto message = fmt::format("{} has {}", subject.point, usage.words(usage.total));
    if (!missed) return checks::passed(std::move(message), subject.point);
    return checks::failed(
        subject.point,
        fmt::format("{}, {} than the {} wanted", message, (missed)->low ? "less" : "more",
                    usage.words((missed)->limit)),
        Remedy::fix_config);
  });
}

// What is free has to reach the limit, what is in use has to stay below it.
template <Reckon kUsageOf, bool kFree>
Findings judge_part(const Snapshot& snapshot, const Arguments& arguments) {
  return on_mount(snapshot, arguments, kUsageOf, [&](const Subject& subject) -> Result<Finding> {
    const auto& usage = subject.usage;
    TRY_ASSIGN(const auto limit, parse_amount(argument(arguments, 1), usage.parse));
    const double amount = kFree ? usage.available : usage.used;
    const double percent = kFree ? 100 - usage.used_percent() : usage.used_percent();
    const double seen = limit.percent ? percent : amount;
    auto message = fmt::format("{} has {} {} ({:g}%)", subject.point, usage.words(amount),
                               kFree ? "free" : "in use", percent);
    const bool well = kFree ? seen >= limit.value : seen < limit.value;
    if (well) return checks::passed(std::move(message), subject.point);
    return checks::failed(subject.point,
                          fmt::format("{}, less than {}{} wanted", message, kFree ? "the " : "",
                                      argument(arguments, 1)),
                          Remedy::fix_config);
  });
}

}  // namespace

std::vector<Row> space_rows() {
  return {
      judged("check_fs_size", judge_total<bytes_of>, Probe::mounts, 1, 3),
      judged("check_fs_free", judge_part<bytes_of, true>, Probe::mounts, 2, 2),
      judged("check_fs_used", judge_part<bytes_of, false>, Probe::mounts, 2, 2),
      judged("check_fs_inodes", judge_total<inodes_of>, Probe::mounts, 1, 3),
      judged("check_fs_ifree", judge_part<inodes_of, true>, Probe::mounts, 2, 2),
      judged("check_fs_iused", judge_part<inodes_of, false>, Probe::mounts, 2, 2),
  };
}

}  // namespace muster::nhc
