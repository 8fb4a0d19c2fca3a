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

namespace muster::checks::host_sysctl {
namespace {

// The kernel separates numbers by tabs, people by blanks.
std::string normalised(std::string_view value) {
  return fmt::format("{}", fmt::join(split_words(value), " "));
}

// `expected`: the values that are right, with | between them.
std::optional<Finding> judge_setting(std::string_view key, const Fact<std::string>& fact,
                                     const std::string& expected) {
  if (fact.is_absent())
    return skipped(fmt::format("this kernel has no {}: {}", key, fact.why()), key);
  if (!fact) return not_known(key, key, fact);
  const std::string seen = normalised(*fact);
  const bool allowed = std::ranges::any_of(
      split(expected, '|'), [&](std::string_view word) { return normalised(word) == seen; });
  if (allowed) return std::nullopt;
  return warned(key, fmt::format("{} is {}, expected {}", key, printable(seen), expected),
                Remedy::fix_config, {seen, expected});
}

const Fact<std::string>& setting_of(const Kernel& kernel, const std::string& key) {
  static const auto kNotLookedFor =
      Fact<std::string>::unreadable("the snapshot was taken without looking for it");
  const auto entry = kernel.sysctl.find(key);
  return entry == kernel.sysctl.end() ? kNotLookedFor : entry->second;
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
    append(findings, judge_setting(key, setting_of(*snapshot.kernel, key), expected));
  if (!limits.transparent_hugepage.empty()) {
    append(
        findings,
        judge_setting("transparent_hugepage", snapshot.kernel->transparent_hugepage,
                      fmt::format("{}", fmt::join(words_for(limits.transparent_hugepage), "|"))));
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

constinit const Check check{
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

}  // namespace muster::checks::host_sysctl
