// SPDX-License-Identifier: Apache-2.0
// How checks of every group make their findings, and what they say in the same words.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/check.hpp"
#include "lib/base/fact.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster::checks {

inline constexpr std::string_view kNode = "node";

// What a rule compared: the value that was seen, the one that is wanted, and their unit.
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

// There is nothing to judge here.
[[nodiscard]] inline Finding skipped(std::string message, std::string_view device = kNode) {
  return about(device, Outcome::skip, std::move(message));
}

// The one finding of a check for which the profile sets no limit.
[[nodiscard]] inline Finding not_expected(std::string_view what) {
  return skipped(fmt::format("no {} expected by this profile", what));
}

// A skip of a check of an amount: "this profile sets no limit for the load".
[[nodiscard]] inline Finding not_limited(std::string_view what) {
  return skipped(fmt::format("this profile sets no limit for {}", what));
}

// A fact that this kind of node should have told. `what` begins the sentence: "the swap size".
template <class T>
[[nodiscard]] Finding not_known(std::string_view device, std::string_view what,
                                const Fact<T>& fact) {
  return unknown(device, fmt::format("{} is not known: {}", what, fact.why()));
}

// What to say of facts that no file holds: below a foreign root nobody can be asked for them.
template <class T>
[[nodiscard]] Finding not_asked(const Snapshot& snapshot, std::string_view device,
                                std::string_view what, const Fact<T>& fact) {
  Finding finding = not_known(device, what, fact);
  if (snapshot.identity->foreign_root && fact.is_absent()) finding.outcome = Outcome::skip;
  return finding;
}

// Adds what another rule found.
inline void append(Findings& findings, Findings more) {
  std::ranges::move(more, std::back_inserter(findings));
}

inline void append(Findings& findings, std::optional<Finding> more) {
  if (more) findings.push_back(*std::move(more));
}

// Drops the passes of single devices, where something is found about all of them together.
inline void drop_passes(Findings& findings) {
  std::erase_if(findings, [](const Finding& each) { return each.outcome == Outcome::pass; });
}

// The findings, or one pass when every rule held.
[[nodiscard]] inline Findings or_pass(Findings findings, std::string message) {
  if (findings.empty()) findings.push_back(passed(std::move(message)));
  return findings;
}

// Whether an ordinary user, and no service of the system, has this id: distributions give those
// below 1000 to services.
[[nodiscard]] inline bool is_of_users(std::uint64_t user) { return user >= 1000; }

[[nodiscard]] inline std::vector<std::string> matching(const std::vector<std::string>& texts,
                                                       std::string_view glob) {
  std::vector<std::string> found;
  std::ranges::copy_if(texts, std::back_inserter(found),
                       [&](const std::string& text) { return matches_glob(glob, text); });
  return found;
}

// A count as a finding carries it.
[[nodiscard]] inline Value count_value(std::uint64_t count) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(count, kMost));
}

// "1 socket", "2 sockets".
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Memory and disks in the unit that profiles state them in: "1870.2 GiB".
[[nodiscard]] inline std::string in_gib(double bytes) {
  return fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024.0 * 1024.0));
}

// "40 s", "12 min", "30 h": enough to know how long ago.
[[nodiscard]] inline std::string in_time(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.0f} h", seconds / kHour);
}

// Broken hardware is the provider's to replace under a hypervisor, the site's elsewhere.
[[nodiscard]] inline Remedy hardware_remedy(const Snapshot& snapshot) {
  return snapshot.identity->hypervisor ? Remedy::report_to_provider : Remedy::reseat_or_replace;
}

}  // namespace muster::checks
