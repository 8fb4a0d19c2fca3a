// SPDX-License-Identifier: Apache-2.0
// host.hugepages: huge pages are configured, and free, as the profile says, size by size.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_hugepages {
namespace {

// The kernel's name of a size, as in /sys/kernel/mm/hugepages.
std::string device_name(std::uint64_t size_kib) { return fmt::format("hugepages-{}kB", size_kib); }

Finding wrong(std::uint64_t size_kib, std::string message, std::uint64_t seen, int expected) {
  return warned(device_name(size_kib), std::move(message), Remedy::fix_config,
                {count_value(seen), expected, "pages"});
}

std::optional<Finding> judge_pages(const HugePages& pages, const HugePageLimit& limit) {
  const std::string device = device_name(pages.size_kib);
  if (limit.count && !pages.total)
    return not_known(device, "the number of huge pages", pages.total);
  // Pages that are not configured cannot be free either.
  if (limit.count && static_cast<std::int64_t>(*pages.total) != *limit.count) {
    return wrong(pages.size_kib,
                 fmt::format("{} of {} KiB configured, expected {}",
                             counted(*pages.total, "huge page"), pages.size_kib, *limit.count),
                 *pages.total, *limit.count);
  }
  if (!limit.free) return std::nullopt;
  if (!pages.free) return not_known(device, "the number of free huge pages", pages.free);
  if (static_cast<std::int64_t>(*pages.free) >= *limit.free) return std::nullopt;
  return wrong(pages.size_kib,
               fmt::format("{} of {} KiB free, expected at least {}",
                           counted(*pages.free, "huge page"), pages.size_kib, *limit.free),
               *pages.free, *limit.free);
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  if (profile.host->hugepages.pages.empty()) return not_expected("huge pages");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.host->hugepages.pages;
  const Fact<std::vector<HugePages>>& pages = snapshot.memory->huge_pages;
  if (!pages) return {not_known(kNode, "the configuration of huge pages", pages)};

  Findings findings;
  for (const auto& limit : limits) {
    const auto size_kib = static_cast<std::uint64_t>(limit.size.value / 1024.0);
    const auto found = std::ranges::find(*pages, size_kib, &HugePages::size_kib);
    if (found != pages->end()) {
      append(findings, judge_pages(*found, limit));
    } else if (const int expected = std::max(limit.count.value_or(0), limit.free.value_or(0));
               expected > 0) {
      findings.push_back(
          wrong(size_kib,
                fmt::format("this kernel offers no huge pages of {} KiB, expected {}", size_kib,
                            expected),
                0, expected));
    }
  }
  return or_pass(std::move(findings),
                 fmt::format("huge pages of {} as expected", counted(limits.size(), "size")));
}

}  // namespace

constinit const Check check{
    .id = "host.hugepages",
    .title = "Huge pages are configured and free as expected",
    .why =
        "Compares the number of huge pages, and how many of them are free, with the profile, size "
        "by size. Too few make programs that rely on them fail or run slow; too many take memory "
        "away from everybody else; pages that are not free on an idle node were left behind.",
    .fix =
        "Set vm.nr_hugepages (or hugepagesz= and hugepages= on the kernel's command line; late "
        "requests find memory fragmented). Pages held on an idle node: look in /dev/hugepages and "
        "for shared memory segments (ipcs -m).",
    .needs = Probe::memory,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_hugepages
