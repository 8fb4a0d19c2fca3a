// SPDX-License-Identifier: Apache-2.0
// Asks one check about a snapshot as the runner does, and compares its findings. Messages are not
// compared: golden files pin them. Includes what nearly every test of a check needs.
#pragma once

#include <ostream>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"

namespace muster {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): only literals

[[nodiscard]] inline Findings ask(const Check& check, const Snapshot& snapshot,
                                  const Profile& profile, const Context& context = {}) {
  if (check.is_limited != nullptr && !check.is_limited(profile)) {
    return {checks::skipped(std::string(check.unlimited))};
  }
  if (check.not_applicable != nullptr) {
    if (auto nothing = check.not_applicable(snapshot, profile)) return {*std::move(nothing)};
  }
  return check.judge_in != nullptr ? check.judge_in(snapshot, profile, context)
                                   : check.judge(snapshot, profile);
}

// A check, and the profile of all tests that name no other.
struct AskedCheck {
  const Check& check;
  Profile (*profile)();

  [[nodiscard]] Findings operator()(const Snapshot& node) const {
    return ask(check, node, profile());
  }

  [[nodiscard]] Findings operator()(const Snapshot& node, const Profile& other) const {
    return ask(check, node, other);
  }
};

// For any fact: it could not be read, or the node does not have it.
[[nodiscard]] inline tl::unexpected<Error> unreadable(std::string why = "Input/output error") {
  return tl::unexpected(Error{.message = std::move(why)});
}
[[nodiscard]] inline tl::unexpected<Error> absent(std::string why = "not supported") {
  return tl::unexpected(Error{.message = std::move(why), .missing = true});
}

// Matches a finding by its outcome and its device.
[[nodiscard]] inline auto is(Outcome outcome) {
  return ::testing::Field("outcome", &Finding::outcome, outcome);
}
[[nodiscard]] inline auto is(Outcome outcome, const std::string& device) {
  return AllOf(is(outcome), ::testing::Field("device", &Finding::device, device));
}

// A finding without its check and message. Equals every Finding whose other fields are the same.
struct Expected {
  Finding finding;
};

[[nodiscard]] inline bool operator==(Finding finding, const Expected& expected) {
  finding.check.clear();
  finding.message.clear();
  return finding == expected.finding;
}

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
inline void PrintTo(const Expected& expected, std::ostream* out) { PrintTo(expected.finding, out); }

[[nodiscard]] inline Expected finds(Outcome outcome, std::string_view device,
                                    Remedy remedy = Remedy::none, checks::Values values = {},
                                    std::string code = {}, std::vector<SeenBy> seen_by = {}) {
  Finding finding = checks::about(device, outcome, "", remedy, std::move(values));
  finding.code = std::move(code);
  finding.seen_by = std::move(seen_by);
  return {std::move(finding)};
}

[[nodiscard]] inline Expected passes(std::string_view device = "node") {
  return finds(Outcome::pass, device);
}

[[nodiscard]] inline Expected skips(std::string_view device = "node") {
  return finds(Outcome::skip, device);
}

[[nodiscard]] inline Expected unknown(std::string_view device = "node") {
  return finds(Outcome::unknown, device);
}

[[nodiscard]] inline Expected fails(std::string_view device, Remedy remedy,
                                    checks::Values values = {}, std::string code = {},
                                    std::vector<SeenBy> seen_by = {}) {
  return finds(Outcome::fail, device, remedy, std::move(values), std::move(code),
               std::move(seen_by));
}

[[nodiscard]] inline Expected warns(std::string_view device, Remedy remedy,
                                    checks::Values values = {}) {
  return finds(Outcome::warn, device, remedy, std::move(values));
}

// The findings of a check in one case, and the expected ones.
struct JudgedCase {
  const char* what;
  Findings findings;
  std::vector<Expected> expected;
};

inline void expect_each(const std::vector<JudgedCase>& cases) {
  for (const JudgedCase& each : cases) {
    EXPECT_THAT(each.findings, ::testing::ElementsAreArray(each.expected)) << each.what;
  }
}

// One change of a node, and the findings of a check about it.
struct NodeChange {
  const char* what;
  void (*make)(Snapshot& node);
  std::vector<Expected> findings;
};

// `judge` returns the findings about a node.
template <class Judge>
void expect_findings(const Judge& judge, const Snapshot& unchanged,
                     const std::vector<NodeChange>& changes) {
  for (const NodeChange& change : changes) {
    Snapshot node = unchanged;
    change.make(node);
    EXPECT_THAT(judge(node), ::testing::ElementsAreArray(change.findings)) << change.what;
  }
}

inline void expect_findings(const Check& check, const Snapshot& unchanged, const Profile& profile,
                            const std::vector<NodeChange>& changes) {
  expect_findings([&](const Snapshot& node) { return ask(check, node, profile); }, unchanged,
                  changes);
}

}  // namespace muster
