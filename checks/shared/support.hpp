// SPDX-License-Identifier: Apache-2.0
// Helpers for all checks: findings, and texts that they share. Includes the standard headers that
// nearly every check needs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "checks/check.hpp"
#include "lib/base/fact.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster::checks {

inline constexpr std::string_view kNode = "node";

// The observed value, the limit, and their unit.
struct Values {
  Value observed{};
  Value limit{};
  std::string unit{};
};

[[nodiscard]] inline Finding about(std::string_view device, Outcome outcome, std::string message,
                                   Remedy remedy = Remedy::none, Values values = {}) {
  return {.device = std::string(device),
          .outcome = outcome,
          .message = std::move(message),
          .observed = std::move(values.observed),
          .limit = std::move(values.limit),
          .unit = std::move(values.unit),
          .remedy = remedy};
}

[[nodiscard]] inline Finding failed(std::string_view device, std::string message, Remedy remedy,
                                    Values values = {}) {
  return about(device, Outcome::fail, std::move(message), remedy, std::move(values));
}

[[nodiscard]] inline Finding warned(std::string_view device, std::string message, Remedy remedy,
                                    Values values = {}) {
  return about(device, Outcome::warn, std::move(message), remedy, std::move(values));
}

[[nodiscard]] inline Finding unknown(std::string_view device, std::string message) {
  return about(device, Outcome::unknown, std::move(message));
}

[[nodiscard]] inline Finding passed(std::string message, std::string_view device = kNode) {
  return about(device, Outcome::pass, std::move(message));
}

[[nodiscard]] inline Finding skipped(std::string message, std::string_view device = kNode) {
  return about(device, Outcome::skip, std::move(message));
}

// For a check without a limit in the profile.
[[nodiscard]] inline Finding not_expected(std::string_view what) {
  return skipped(fmt::format("no {} expected by this profile", what));
}

// The same for an amount: "this profile sets no limit for the load".
[[nodiscard]] inline Finding not_limited(std::string_view what) {
  return skipped(fmt::format("this profile sets no limit for {}", what));
}

// For Check::is_limited: whether the profile sets anything in a block of its limits of hosts.
template <auto kBlock>
[[nodiscard]] bool sets(const Profile& profile) {
  const auto& block = (*profile.host).*kBlock;
  return block != std::remove_cvref_t<decltype(block)>();
}

// For Check::not_applicable: the skip, unless there is something to judge.
[[nodiscard]] inline std::optional<Finding> unless(bool judged, Finding skip) {
  return judged ? std::nullopt : std::optional(std::move(skip));
}

// For a missing fact that is required. `what` starts the sentence: "the swap size".
template <class T>
[[nodiscard]] Finding not_known(std::string_view device, std::string_view what,
                                const Fact<T>& fact) {
  return unknown(device, fmt::format("{} is unknown: {}", what, fact.why()));
}

// Like not_known(), but a skip below a foreign root, for facts that are not in files.
template <class T>
[[nodiscard]] Finding not_known_here(const Snapshot& snapshot, std::string_view device,
                                     std::string_view what, const Fact<T>& fact) {
  Finding finding = not_known(device, what, fact);
  if (snapshot.identity->foreign_root && fact.is_absent()) finding.outcome = Outcome::skip;
  return finding;
}

inline void append(Findings& findings, Findings more) {
  std::ranges::move(more, std::back_inserter(findings));
}

inline void append(Findings& findings, std::optional<Finding> more) {
  if (more) findings.push_back(*std::move(more));
}

// Removes the passes of single devices if there is a finding about all of them.
inline void drop_passes(Findings& findings) {
  std::erase_if(findings, [](const Finding& each) { return each.outcome == Outcome::pass; });
}

// The findings, or one pass if there are none.
[[nodiscard]] inline Findings or_pass(Findings findings, std::string message) {
  if (findings.empty()) findings.push_back(passed(std::move(message)));
  return findings;
}

// True for an ordinary user: distributions reserve ids below 1000 for services.
[[nodiscard]] inline bool is_of_users(std::uint64_t user) { return user >= 1000; }

[[nodiscard]] inline std::vector<std::string> matching(const std::vector<std::string>& texts,
                                                       std::string_view glob) {
  std::vector<std::string> found;
  std::ranges::copy_if(texts, std::back_inserter(found),
                       [&](const std::string& text) { return matches_glob(glob, text); });
  return found;
}

// A count as the value of a finding.
[[nodiscard]] inline Value count_value(std::uint64_t count) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(count, kMax));
}

// "1870.2 GiB", the unit of profiles.
[[nodiscard]] inline std::string in_gib(double bytes) {
  return fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024.0 * 1024.0));
}

// "40 s", "12 min", "30 h".
[[nodiscard]] inline std::string in_time(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.0f} h", seconds / kHour);
}

// Below a hypervisor the provider replaces hardware, elsewhere the site.
[[nodiscard]] inline Remedy hardware_remedy(const Snapshot& snapshot) {
  return snapshot.identity->hypervisor ? Remedy::report_to_provider : Remedy::reseat_or_replace;
}

// The sections that leave_undecided() uses; for Check::looks_at.
inline constexpr ProbeSet kShowsOverload = Probe::processes | Probe::cpu | Probe::memory;

// Turns a failure because of a missed deadline into `unknown` on an overloaded node.
void leave_undecided(const Snapshot& snapshot, Finding& finding);

}  // namespace muster::checks
