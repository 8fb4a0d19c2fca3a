// SPDX-License-Identifier: Apache-2.0
// host.sysctl: kernel settings have the values the profile gives.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks {
namespace {

constexpr std::string_view kHugePagesName = "transparent_hugepage";

// The kernel separates numbers by tabs, people by blanks.
std::string normalised(std::string_view value) {
  return fmt::format("{}", fmt::join(split_words(value), " "));
}

// A setting that could not be read, or that this kernel does not have.
Finding not_read(std::string_view key, const Fact<std::string>& fact) {
  if (!fact.is_absent()) return not_known(key, key, fact);
  return skipped(fmt::format("this kernel has no {}: {}", key, fact.why()), key);
}

Finding wrong(std::string_view key, const std::string& seen, const std::string& expected) {
  return warned(key,
                fmt::format("{} is {}, expected {}", key, printable(seen), expected),
                Remedy::fix_config,
                {seen, expected});
}

void judge_key(const Kernel& kernel,
               const std::string& key,
               const std::string& expected,
               Findings& findings) {
  const auto entry = kernel.sysctl.find(key);
  if (entry == kernel.sysctl.end()) {
    findings.push_back(not_known(
        key, key, Fact<std::string>::unreadable("the snapshot was taken without looking for it")));
    return;
  }
  const Fact<std::string>& fact = entry->second;
  if (!fact) {
    findings.push_back(not_read(key, fact));
  } else {
    const std::string seen = normalised(*fact);
    const bool allowed = std::ranges::any_of(
        split(expected, '|'), [&](std::string_view word) { return normalised(word) == seen; });
    if (!allowed) findings.push_back(wrong(key, seen, expected));
  }
}

void judge_transparent_hugepage(const Fact<std::string>& fact,
                                const Words& allowed,
                                Findings& findings) {
  if (!fact) {
    findings.push_back(not_read(kHugePagesName, fact));
  } else if (std::ranges::find(allowed, *fact) == allowed.end()) {
    findings.push_back(wrong(kHugePagesName, *fact, fmt::format("{}", fmt::join(allowed, "|"))));
  }
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const SysctlLimits& limits = profile.host->sysctl;
  if (limits.values.empty() && limits.transparent_hugepage.empty())
    return not_expected("kernel settings");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const SysctlLimits& limits = profile.host->sysctl;
  const std::size_t settings = limits.values.size() + (limits.transparent_hugepage.empty() ? 0 : 1);

  Findings findings;
  for (const auto& [key, expected] : limits.values)
    judge_key(*snapshot.kernel, key, expected, findings);
  if (!limits.transparent_hugepage.empty()) {
    judge_transparent_hugepage(
        snapshot.kernel->transparent_hugepage, limits.transparent_hugepage, findings);
  }
  const auto skips =
      static_cast<std::size_t>(std::ranges::count(findings, Outcome::skip, &Finding::outcome));
  if (skips == findings.size() && skips < settings) {
    findings.push_back(
        passed(fmt::format("{} as expected", counted(settings - skips, "kernel setting"))));
  }
  return findings;
}

}  // namespace

constinit const Check host_sysctl{
    .id = "host.sysctl",
    .title = "Kernel settings have the expected values",
    .why =
        "Compares settings below /proc/sys, and the mode of transparent huge pages, with the "
        "profile. Automatic NUMA balancing, zone reclaim and huge-page defragmentation cost "
        "parallel jobs time at random moments, on some nodes only.",
    .fix =
        "Set the value with sysctl -w and keep it in /etc/sysctl.d. Transparent huge pages: "
        "/sys/kernel/mm/transparent_hugepage/enabled, or transparent_hugepage= at boot.",
    .needs = Probe::kernel,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks
