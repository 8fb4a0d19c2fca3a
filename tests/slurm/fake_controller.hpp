// SPDX-License-Identifier: Apache-2.0
// A small cluster in memory that handles drains as slurmctld does, hangs and dies on request,
// and has its own clock.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm/cluster/controller.hpp"

namespace muster::slurm {

class FakeCluster {
 public:
  enum class Health {
    well,
    dead,  // nothing is done
    hung,  // requests are carried out when it wakes up; until then there is no answer
  };

  explicit FakeCluster(std::size_t size,
                       std::chrono::seconds begin = std::chrono::seconds(1'800'000'000))
      : clock_(begin) {
    for (std::size_t i = 1; i <= size; ++i) {
      nodes_.push_back({.name = fmt::format("n{:03}", i),
                        .partitions = {"gpu"},
                        .state = "idle",
                        .reason = "",
                        .user = "",
                        .since = std::nullopt});
    }
  }

  [[nodiscard]] Time now() const { return Time(std::chrono::floor<std::chrono::seconds>(clock_)); }

  void pass(std::chrono::milliseconds time) { clock_ += time; }

  [[nodiscard]] std::chrono::milliseconds clock() const { return clock_; }

  [[nodiscard]] NodeState& node(std::string_view name) {
    return *std::find_if(nodes_.begin(), nodes_.end(),
                         [&](const NodeState& each) { return each.name == name; });
  }

  [[nodiscard]] const std::vector<NodeState>& nodes() const { return nodes_; }

  // Acts like root or an admin with scontrol: overwrites without looking first.
  void drain(std::string_view name, std::string_view reason, std::string_view user = "root") {
    auto& changed = node(name);
    changed.state = changed.state == "allocated" ? "draining" : "drained";
    changed.reason = reason;
    changed.user = user;
    changed.since = now();
  }

  void resume(std::string_view name) {
    auto& changed = node(name);
    changed.state = "idle";
    changed.reason = changed.user = "";
    changed.since.reset();
  }

  [[nodiscard]] std::size_t drained() const {
    return static_cast<std::size_t>(std::count_if(
        nodes_.begin(), nodes_.end(), [](const NodeState& each) { return each.state != "idle"; }));
  }

  void be(Health health) {
    health_ = health;
    if (health != Health::well) return;
    for (const auto& work : std::exchange(late_, {})) work();
  }

  // Why there is no answer; empty if there is one.
  [[nodiscard]] std::string trouble(std::string_view program) {
    if (health_ == Health::well) return "";
    if (health_ == Health::dead) {
      return fmt::format("{} ended with status 1: Unable to contact slurm controller", program);
    }
    constexpr int kDeadline = 8;
    pass(std::chrono::seconds(kDeadline));
    return fmt::format("{} did not answer within {} s", program, kDeadline);
  }

  // Does the work now, or when slurmctld wakes up; never if slurmctld is dead.
  void change(const std::function<void()>& work) {
    if (health_ == Health::well) work();
    if (health_ == Health::hung) late_.push_back(work);
  }

 private:
  std::vector<NodeState> nodes_;
  std::chrono::milliseconds clock_;
  Health health_ = Health::well;
  std::vector<std::function<void()>> late_;
};

// One node's connection to the cluster. The functions do what others do in the meantime.
class FakeController : public Controller {
 public:
  explicit FakeController(FakeCluster& cluster) : cluster_(cluster) {}

  Result<std::vector<NodeState>> nodes(std::string_view /*node*/) override {
    calls.emplace_back("read");
    if (auto trouble = cluster_.trouble("sinfo"); !trouble.empty()) {
      return make_error(std::move(trouble));
    }
    auto seen = cluster_.nodes();
    if (after_read) after_read();
    return seen;
  }

  Result<std::vector<NodeName>> names() override {
    std::vector<NodeName> names;
    for (const auto& node : cluster_.nodes())
      names.push_back({.node = node.name, .host = node.name});
    return names;
  }

  Result<void> drain(std::string_view node, std::string_view reason,
                     std::optional<std::string> memory) override {
    calls.emplace_back("drain");
    if (before_drain) before_drain();
    if (!refusal.empty()) return make_error(refusal);
    if (forgets) memory.reset();
    cluster_.change([&cluster = cluster_, name = std::string(node), text = std::string(reason),
                     memory = std::move(memory)] {
      cluster.drain(name, text);
      if (memory) cluster.node(name).memory = *memory;
    });
    auto trouble = cluster_.trouble("scontrol");
    if (after_drain) after_drain();
    return trouble.empty() ? Result<void>() : make_error(std::move(trouble));
  }

  Result<void> resume(std::string_view node, std::optional<std::string> memory) override {
    calls.emplace_back("resume");
    if (before_resume) before_resume();
    auto trouble = cluster_.trouble("scontrol");
    if (trouble.empty() && cluster_.node(node).state == "idle") {
      trouble = "scontrol ended with status 1: Invalid node state specified";
    }
    cluster_.change([&cluster = cluster_, name = std::string(node), memory = std::move(memory)] {
      cluster.resume(name);
      if (memory) cluster.node(name).memory = *memory;
    });
    return trouble.empty() ? Result<void>() : make_error(std::move(trouble));
  }

  Result<void> remember(std::string_view node, std::string_view memory) override {
    calls.emplace_back("remember");
    if (forgets) return {};
    auto trouble = cluster_.trouble("scontrol");
    cluster_.change([&cluster = cluster_, name = std::string(node), text = std::string(memory)] {
      cluster.node(name).memory = text;
    });
    return trouble.empty() ? Result<void>() : make_error(std::move(trouble));
  }

  std::string refusal;   // of each drain; empty: none is refused
  bool forgets = false;  // this Slurm does not have the field of the memory
  std::vector<std::string> calls;
  std::function<void()> after_read, before_drain, after_drain, before_resume;

 private:
  FakeCluster& cluster_;
};

}  // namespace muster::slurm
