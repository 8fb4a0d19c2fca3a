// SPDX-License-Identifier: Apache-2.0
// Runs on nodes of a cluster in memory, with its own clock.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "slurm/drains/enforce.hpp"
#include "slurm/policy/node_memory.hpp"
#include "tests/slurm/fake_controller.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::slurm {

inline constexpr std::chrono::seconds kInterval{300};

inline Report healthy() {
  return {.node = "n001",
          .context = "periodic",
          .verdict = Verdict::healthy,
          .checks = {{"gpu.persistence", Outcome::pass}},
          .findings = {}};
}

inline Report sick(Remedy remedy = Remedy::restart_service) {
  const Finding finding{.check = "gpu.persistence",
                        .device = "gpu3",
                        .outcome = Outcome::fail,
                        .message = "persistence mode is off",
                        .remedy = remedy};
  return {.node = "n001",
          .context = "periodic",
          .verdict = Verdict::unhealthy,
          .checks = {{"gpu.persistence", Outcome::fail}},
          .findings = {finding}};
}

class EnforceTest : public testing::Test {
 protected:
  // One run on one node, which asks `controller`.
  HookResult run(const Report& report, const std::string& node = "n001") {
    return run_with(report, node, services_of(node));
  }

  HookResult run_with(const Report& report, const std::string& node, const HookServices& services) {
    order.report = &report;
    order.node = node;
    return enforce(order, services);
  }

  HookServices services_of(const std::string& node) {
    return {.controller = &controller,
            .trouble = "",
            .history = with_history ? &history_of(node) : nullptr,
            .last_look = &looks.try_emplace(node, dir.path() / node, node).first->second,
            .now = [this] { return cluster.now(); },
            .sleep =
                [this](std::chrono::milliseconds time) {
                  cluster.pass(time);
                  if (while_asleep) while_asleep();
                },
            .tell = [this](const Event& event) { told.push_back(event.kind); },
            .left = [this, end = cluster.clock() + budget] { return end - cluster.clock(); }};
  }

  // Each node has its own.
  History& history_of(const std::string& node) {
    const auto found = histories.find(node);
    if (found != histories.end()) return found->second;
    auto opened = History::open(dir.path() / node / "events.jsonl");
    EXPECT_TRUE(opened) << opened.error().message;
    return histories.emplace(node, std::move(opened.value())).first->second;
  }

  std::vector<std::string> remembered(const std::string& node = "n001") {
    std::vector<std::string> kinds;
    const auto events = history_of(node).events({});
    for (const auto& event : events.value()) kinds.push_back(event.kind);
    return kinds;
  }

  // The drain that the node shows in Slurm.
  std::optional<NodeMemory> record(const std::string& node = "n001") {
    return own_drain(cluster.node(node));
  }

  NodeMemory memory(const std::string& node = "n001") {
    return parse_node_memory(cluster.node(node).memory).value_or(NodeMemory{});
  }

  // The node gets another disk.
  void lose_state(const std::string& node = "n001") {
    histories.erase(node);
    std::filesystem::remove_all(dir.path() / node);
  }

  static std::vector<std::string> kinds(const HookResult& enforced) {
    std::vector<std::string> kinds;
    for (const auto& event : enforced.events) kinds.push_back(event.kind);
    return kinds;
  }

  std::size_t count(std::string_view call) const {
    return static_cast<std::size_t>(
        std::count(controller.calls.begin(), controller.calls.end(), call));
  }

  TempDir dir;
  FakeCluster cluster{4};
  FakeController controller{cluster};
  HookRequest order{.context = "periodic", .job = "", .boot_id = "boot-1", .identity = "GPU-1"};
  std::map<std::string, History> histories;
  std::map<std::string, LastLook> looks;
  bool with_history = true;
  std::chrono::milliseconds budget = std::chrono::seconds(25);  // of each run
  std::vector<std::string> told;
  std::function<void()> while_asleep;
};

inline constexpr std::string_view kReason =
    "muster: gpu.persistence gpu3: persistence mode is off; restart the service";

}  // namespace muster::slurm
