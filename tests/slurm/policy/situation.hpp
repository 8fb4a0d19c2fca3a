// SPDX-License-Identifier: Apache-2.0
// A node of a cluster of ten, its report, and what Slurm shows.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "slurm/policy/decide.hpp"

namespace muster::slurm {

inline constexpr Time kNow{std::chrono::seconds(1'795'322'000)};

inline const std::string kOurReason =
    "muster: gpu.count: 7 of 8 GPUs are there; end or restart the application";

inline Finding sick_finding() {
  return {.check = "gpu.count",
          .device = "node",
          .outcome = Outcome::fail,
          .message = "7 of 8 GPUs are there",
          .remedy = Remedy::restart_app};
}

inline Report report_of(Verdict verdict, std::vector<Finding> findings) {
  Report report{.context = "periodic", .verdict = verdict, .findings = std::move(findings)};
  for (const auto& finding : report.findings) {
    report.checks.push_back({.id = finding.check, .outcome = finding.outcome});
    if (finding.outcome == Outcome::unknown) report.undecided.push_back(finding.check);
  }
  return report;
}

inline const Report& sick_report() {
  static const Report report = report_of(Verdict::unhealthy, {sick_finding()});
  return report;
}

inline const Report& well_report() {
  static const Report report =
      report_of(Verdict::healthy, {{.check = "gpu.count", .outcome = Outcome::pass}});
  return report;
}

// n0, n1 and so on of the partition main, idle.
inline std::vector<NodeState> idle_nodes(std::size_t count) {
  std::vector<NodeState> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back({.name = fmt::format("n{}", i), .partitions = {"main"}, .state = "idle"});
  }
  return nodes;
}

inline std::vector<NodeState> ten_nodes() { return idle_nodes(10); }

inline NodeState drained(NodeState node, std::string reason, std::optional<Time> since) {
  node.state = "drained";
  node.reason = std::move(reason);
  node.user = "root";
  node.since = since;
  return node;
}

// n1 is idle, and this program runs on it.
inline Situation in_service(const Report& report) {
  Situation situation{.report = &report, .now = kNow, .boot_id = "boot-1", .identity = "gpus-1"};
  situation.cluster = ten_nodes();
  situation.node = situation.cluster[1];
  return situation;
}

// Puts a memory into n1's field in Slurm.
inline void remember(Situation& situation, const NodeMemory& memory) {
  situation.node->memory = situation.cluster[1].memory = to_text(memory);
}

// Changes the one that it has.
template <class T, class Value>
void remember(Situation& situation, T NodeMemory::*member, Value value) {
  auto memory = parse_node_memory(situation.node->memory).value_or(NodeMemory());
  memory.*member = std::move(value);
  remember(situation, memory);
}

// n1 was drained by muster a minute ago, and this clean run is the last that it needs.
inline Situation drained_by_muster(const Report& report) {
  auto situation = in_service(report);
  const auto at = kNow - std::chrono::minutes(1);
  situation.node = situation.cluster[1] = drained(situation.cluster[1], kOurReason, at);
  remember(situation, {.check = "gpu.count",
                       .remedy = Remedy::restart_app,
                       .at = at,
                       .boot = "boot-1",
                       .clean = 2,
                       .settled = true,
                       .reason = short_hash(kOurReason),
                       .hardware = hash_hardware("gpus-1"),
                       .drains = {at}});
  return situation;
}

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
inline void PrintTo(const Decision& decision, std::ostream* out) {
  constexpr std::array<std::string_view, 4> kActions{"drain", "keep", "resume", "nothing"};
  *out << fmt::format("\n  {} because \"{}\"\n  reason \"{}\" check {} device {} remedy {}{}{}{}",
                      kActions.at(static_cast<std::size_t>(decision.action)), decision.why,
                      decision.reason, decision.check, decision.device, to_string(decision.remedy),
                      decision.loud ? " loud" : "", decision.sick ? " sick" : "",
                      decision.clean ? " clean" : "");
}

inline Decision nothing(std::string why) { return {.why = std::move(why)}; }

inline void put(Situation& situation, std::string state, std::string reason = "",
                std::string user = "") {
  situation.node->state = std::move(state);
  situation.node->reason = std::move(reason);
  situation.node->user = std::move(user);
  situation.cluster[1] = *situation.node;
}

using Change = std::function<void(Situation&)>;

inline Change shown_as(const std::string& state, const std::string& reason = "",
                       const std::string& user = "") {
  return [=](Situation& s) { put(s, state, reason, user); };
}

template <class T>
Change with_memory(T NodeMemory::*member, std::type_identity_t<T> value) {
  return [=](Situation& s) { remember(s, member, value); };
}

template <class T>
Change with_rule(T Rules::*member, std::type_identity_t<T> value) {
  return [=](Situation& s) { s.rules.*member = value; };
}

template <class T>
Change with(T Situation::*member, std::type_identity_t<T> value) {
  return [=](Situation& s) { s.*member = value; };
}

// Slurm does not report the state of the node.
inline Change unknown_because(const std::string& why) {
  return [=](Situation& s) {
    s.node.reset();
    s.trouble = why;
  };
}

// A situation that is changed, and the decision then.
struct PolicyCase {
  std::string_view name;
  std::vector<Change> changes;
  Decision expected;
};

inline void expect_decisions(const Situation& usual, const std::vector<PolicyCase>& cases) {
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    auto situation = usual;
    for (const auto& change : test.changes) change(situation);
    EXPECT_EQ(decide(situation), test.expected);
  }
}

}  // namespace muster::slurm
