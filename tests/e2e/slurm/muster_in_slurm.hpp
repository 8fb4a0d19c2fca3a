// SPDX-License-Identifier: Apache-2.0
// A real Slurm with muster's hooks, on simulated nodes whose trees change while the cluster runs.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/e2e/process.hpp"
#include "tests/e2e/slurm/cluster.hpp"
#include "tests/e2e/slurm/private_world.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::e2e {

inline constexpr std::string_view kFault = "row_remapping_failed";
inline constexpr std::string_view kReason =
    "muster: gpu.ecc_remapped_rows gpu5: row remapping failed";
// Its remedy is not a replacement, so the node may be resumed.
inline constexpr std::string_view kPassing = "memlock_limited";

inline bool is_idle(const SlurmNode& node) { return node.is("idle"); }

inline bool is_drained(const SlurmNode& node) { return node.is("drained"); }

class MusterInSlurm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
    ASSERT_TRUE(render("healthy", {}));
  }

  // Starts Slurm with `rules` in the block `slurm` and all hooks.
  void begin(int nodes, std::string_view rules, bool prolog = false) {
    for (const auto& entry : std::filesystem::directory_iterator(trees_.path())) {
      if (!entry.is_directory()) continue;
      std::filesystem::create_directories(entry.path() / "etc/muster");
      std::ofstream(entry.path() / "etc/muster/muster.yaml")
          << "schema: muster.site/1\nslurm: {spread: 0 s, controller_deadline: "
          << controller_deadline_ << rules << "}\n"
          << site_;
    }
    for (int node = 1; node <= nodes; ++node) become(fmt::format("n{}", node), "healthy");
    for (int node = 1; node <= cloud_nodes_; ++node) become(fmt::format("c{}", node), "healthy");
    ClusterOptions options{
        .nodes = nodes,
        .programs = {{"health_check", health_check_.empty() ? hook("periodic") : health_check_},
                     {"prolog", hook("prolog")},
                     {"epilog", hook("epilog")}},
        .health_check = "health_check",
        .health_interval_s = 2,
        .more = {"RebootProgram=/bin/true"},
        .cloud_nodes = cloud_nodes_,
        .partition = partition_};
    if (cloud_nodes_ == 0) options.more.emplace_back("ResumeTimeout=60");
    if (prolog) {
      options.prolog = "prolog";
      options.epilog = "epilog";
      options.health_interval_s = 3600;
      options.health_node_state = "ANY,CYCLE";
    }
    options.more.insert(options.more.end(), more_.begin(), more_.end());
    cluster_ = std::make_unique<Cluster>(std::move(options));
    ASSERT_EQ(cluster_->trouble(), "");
  }

  // Calls a hook like slurmd does, but with a node's tree instead of its files, and with only the
  // variables that slurmd passes.
  [[nodiscard]] std::string hook(std::string_view context) const {
    return fmt::format(
        "#!/bin/sh\n"
        "export SLURM_CONF=\"${{SLURM_CONF:-${{0%/*}}/../etc/slurm.conf}}\"\n"
        "export MUSTER_DATA_DIR={0}/configs\n"
        "tree={1}/on-$SLURMD_NODENAME\n"
        "exec {2} hook {3} --profile {5} --root \"$tree\" "
        "--nvml \"$tree/nvml/libnvidia-ml.so.1\" --state {1}/state-$SLURMD_NODENAME {4}\n",
        MUSTER_SOURCE_DIR, trees_.path().string(), MUSTER_PROGRAM, context, settings_, profile_);
  }

  [[nodiscard]] bool render(std::string_view name, std::string_view fault) const {
    auto words = fmt::format("{} render {} {}/{}", MUSTER_NODE_PROGRAM, model_,
                             trees_.path().string(), name);
    if (!fault.empty()) words.append(fmt::format(" --fault {}", fault));
    Process process({"/bin/sh", "-c", words}, {}, trees_.path() / "render.out");
    return process.wait(kPatience) == 0 && std::filesystem::remove(trees_.path() / "render.out");
  }

  // Atomically switches the node to another tree.
  void become(const std::string& node, const std::string& tree) const {
    const auto link = trees_.path() / fmt::format("on-{}", node);
    const auto next = trees_.path() / fmt::format("next-{}", node);
    std::filesystem::create_directory_symlink(trees_.path() / tree, next);
    std::filesystem::rename(next, link);
  }

  [[nodiscard]] std::string events_of(const std::string& node) const {
    const auto file = trees_.path() / "events.out";
    Process process({MUSTER_PROGRAM, "events", "--state",
                     (trees_.path() / fmt::format("state-{}", node)).string()},
                    {}, file);
    static_cast<void>(process.wait(kPatience));
    return content_of(file);
  }

  // Calls muster with the option that a machine without its own history needs.
  [[nodiscard]] std::string status_of_cluster() {
    return cluster()
        .run({MUSTER_PROGRAM, "status", "--root", trees_.path("healthy"), "--state",
              trees_.path("no-state")})
        .out;
  }

  // Whether the node's hooks write this within a generous time.
  [[nodiscard]] bool says(const std::string& node, std::string_view text) const {
    return wait_for([&] { return events_of(node).find(text) != std::string::npos; });
  }

  Cluster& cluster() { return *cluster_; }

  TempDir trees_{why_no_cluster().empty() ? kScratch : "/tmp"};
  // The nodes that SetUp() renders.
  std::string model_ = "nd96isr_h100_v5", profile_ = "nd96isr_h100_v5";
  std::string site_;  // more blocks of muster.yaml
  std::string settings_;
  std::string health_check_;       // a script in place of muster's
  std::vector<std::string> more_;  // lines of slurm.conf
  int cloud_nodes_ = 0;
  std::string partition_;  // more words of its line
  std::string controller_deadline_ = "15 s";
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace muster::e2e
