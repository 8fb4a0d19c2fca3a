// SPDX-License-Identifier: Apache-2.0
// check_fs_size, _free and _used, and the same of inodes, reckoned as df does.
#include <cmath>
#include <optional>

#include "checks/nhc_conf/judging.hpp"
#include "checks/nhc_conf/size.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

// One kind of thing that a file system has so many of.
struct Stock {
  ParseAmount parse;
  double total = 0, used = 0, available = 0;

  // df rounds up.
  [[nodiscard]] double used_percent() const { return std::ceil(100 * used / (used + available)); }

  [[nodiscard]] std::string words(double amount) const {
    if (parse == parse_count) return fmt::format("{:.0f} inodes", amount);
    return amount < 1024.0 * 1024 * 1024 ? fmt::format("{:.0f} kB", amount / 1024)
                                         : checks::in_gib(amount);
  }
};

Stock bytes_of(const Space& space) {
  return {.parse = parse_size,
          .total = static_cast<double>(space.total_bytes),
          .used = static_cast<double>(space.used_bytes),
          .available = static_cast<double>(space.available_bytes)};
}

Stock inodes_of(const Space& space) {
  const auto total = static_cast<double>(space.inodes_total);
  const auto free = static_cast<double>(space.inodes_free);
  return {.parse = parse_count, .total = total, .used = total - free, .available = free};
}

struct Subject {
  std::string point;
  Stock stock;
};

Finding failed(const Subject& subject, std::string message, Remedy remedy) {
  return {.device = subject.point,
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = remedy};
}

// `judge` is asked where there is something to judge. NHC passes where nothing is mounted, and on
// file systems without space; here it is said.
template <class Rule>
Findings on_mount(const Snapshot& snapshot,
                  const Arguments& arguments,
                  Stock (*stock_of)(const Space&),
                  const Rule& judge) {
  const std::string point = printable(argument(arguments, 0));
  const Mount* mount = mount_at(snapshot, argument(arguments, 0));
  const Finding skipped{.device = point, .outcome = Outcome::skip};
  if (mount == nullptr) {
    auto finding = skipped;
    finding.message = fmt::format("nothing is mounted on {}", point);
    return {std::move(finding)};
  }
  if (mount->hung) {
    return {failed({point, {}}, fmt::format("{} did not answer", point), Remedy::restart_service)};
  }
  if (!mount->space) {
    return {checks::not_known(point, fmt::format("the space of {}", point), mount->space)};
  }
  const Subject subject{.point = point, .stock = stock_of(*mount->space)};
  if (subject.stock.total <= 0) {
    auto finding = skipped;
    finding.message = fmt::format("{} counts none", point);
    return {std::move(finding)};
  }
  Result<Finding> finding = judge(subject);
  if (!finding) return {not_judged(finding.error().message, point)};
  return {std::move(*finding)};
}

// The limit that a total misses, and which way.
struct Missed {
  double limit = 0;
  bool low = false;
};

Result<std::optional<Missed>> missed_by(const Stock& stock, const Arguments& arguments) {
  for (const bool low : {true, false}) {
    const auto word = argument(arguments, low ? 1 : 2);
    if (word.empty()) continue;
    const auto limit = stock.parse(word);
    if (!limit) return tl::unexpected(limit.error());
    const bool well = low ? stock.total >= *limit : stock.total <= *limit;
    if (!well) return Missed{.limit = *limit, .low = low};
  }
  return std::nullopt;
}

Findings judge_total(const Snapshot& snapshot,
                     const Arguments& arguments,
                     Stock (*stock_of)(const Space&)) {
  return on_mount(snapshot, arguments, stock_of, [&](const Subject& subject) -> Result<Finding> {
    const auto& stock = subject.stock;
    const auto missed = missed_by(stock, arguments);
    if (!missed) return tl::unexpected(missed.error());
    auto message = fmt::format("{} has {}", subject.point, stock.words(stock.total));
    if (!*missed) return checks::passed(std::move(message), subject.point);
    return failed(subject,
                  fmt::format("{}, {} than the {} wanted",
                              message,
                              (*missed)->low ? "less" : "more",
                              stock.words((*missed)->limit)),
                  Remedy::fix_config);
  });
}

Findings judge_rest(const Snapshot& snapshot,
                    const Arguments& arguments,
                    Stock (*stock_of)(const Space&)) {
  return on_mount(snapshot, arguments, stock_of, [&](const Subject& subject) -> Result<Finding> {
    const auto& stock = subject.stock;
    const auto least = parse_amount(argument(arguments, 1), stock.parse);
    if (!least) return tl::unexpected(least.error());
    const double share = 100 - stock.used_percent();
    auto message =
        fmt::format("{} has {} free ({:g}%)", subject.point, stock.words(stock.available), share);
    const bool well = least->percent ? share >= least->value : stock.available >= least->value;
    if (well) return checks::passed(std::move(message), subject.point);
    return failed(subject,
                  fmt::format("{}, less than the {} wanted", message, argument(arguments, 1)),
                  Remedy::fix_config);
  });
}

Findings judge_use(const Snapshot& snapshot,
                   const Arguments& arguments,
                   Stock (*stock_of)(const Space&)) {
  return on_mount(snapshot, arguments, stock_of, [&](const Subject& subject) -> Result<Finding> {
    const auto& stock = subject.stock;
    const auto most = parse_amount(argument(arguments, 1), stock.parse);
    if (!most) return tl::unexpected(most.error());
    const double share = stock.used_percent();
    auto message =
        fmt::format("{} has {} in use ({:g}%)", subject.point, stock.words(stock.used), share);
    const bool well = most->percent ? share < most->value : stock.used < most->value;
    if (well) return checks::passed(std::move(message), subject.point);
    return failed(subject,
                  fmt::format("{}, less than {} wanted", message, argument(arguments, 1)),
                  Remedy::fix_config);
  });
}

}  // namespace

Findings judge_fs_size(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_total(snapshot, arguments, bytes_of);
}

Findings judge_fs_free(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_rest(snapshot, arguments, bytes_of);
}

Findings judge_fs_used(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_use(snapshot, arguments, bytes_of);
}

Findings judge_fs_inodes(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_total(snapshot, arguments, inodes_of);
}

Findings judge_fs_ifree(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_rest(snapshot, arguments, inodes_of);
}

Findings judge_fs_iused(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_use(snapshot, arguments, inodes_of);
}

}  // namespace muster::nhc
