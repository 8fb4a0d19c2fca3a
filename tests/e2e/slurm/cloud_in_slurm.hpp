// SPDX-License-Identifier: Apache-2.0
// A real Slurm with one cloud node, c1, which Slurm powers down and up, on the same host or
// another.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "tests/e2e/slurm/muster_in_slurm.hpp"

namespace muster::e2e {

class CloudInSlurm : public MusterInSlurm {
 protected:
  void SetUp() override {
    MusterInSlurm::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(render("sick", kPassing));
    cloud_nodes_ = 1;
    more_ = {"PrivateData=cloud"};
  }

  // A tree of the host after another boot, or of another host.
  void render_booted(const std::string& tree, std::string_view fault = "") {
    ASSERT_TRUE(render(tree, fault));
    std::ofstream(trees_.path() / tree / "proc/sys/kernel/random/boot_id")
        << "00000000-6a8e-4c1d-9d2b-0c54a1e7f002\n";
    if (tree != "booted") replace_gpus(tree);
  }

  // c1 is up and drained by muster, and then powered down.
  void drain_and_power_down() {
    ASSERT_TRUE(cluster().power_up("c1")) << logs();
    become("c1", "sick");
    ASSERT_TRUE(cluster().wait_until("c1", is_drained)) << events_of("c1");
    ASSERT_TRUE(says("c1", " drained c1 ")) << events_of("c1");
    ASSERT_TRUE(cluster().power_down("c1")) << logs();
    EXPECT_EQ(state(), "drained~");
    // Slurm 24.11 asks it anew after a reconfiguration.
    EXPECT_TRUE(cluster().wait_until("n1", is_idle)) << logs();
    lose_disk();
  }

  // Returns the machine to the provider, and gives its name to another one.
  void lose_disk() {
    std::filesystem::rename(trees_.path() / "state-c1",
                            trees_.path() / fmt::format("lost-{}", ++lost_disks_));
  }

  [[nodiscard]] SlurmNode node() { return cluster().nodes({"-a", "-n", "c1"})["c1"]; }

  [[nodiscard]] std::string state() { return node().state; }

  [[nodiscard]] std::string logs() { return state() + cluster().log_of("slurmctld"); }

  // Before 23.02 sinfo hides nodes that are powered down unless PrivateData=cloud.
  [[nodiscard]] bool is_before(std::string_view release) {
    const auto version = cluster().scontrol({"--version"}).out;
    return version.substr(version.find(' ') + 1) < release;
  }

  Ran muster(const std::string& command, const Words& words = {}) {
    Words all{MUSTER_PROGRAM, command};
    all.insert(all.end(), words.begin(), words.end());
    for (const auto& [option, folder] : {std::pair{"--root", "healthy"}, {"--state", "admin"}}) {
      all.emplace_back(option);
      all.push_back(trees_.path(folder));
    }
    return cluster().run(all);
  }

 private:
  void replace_gpus(std::string_view tree) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(trees_.path() / tree)) {
      if (!entry.is_regular_file() || entry.file_size() > 1U << 20U) continue;
      auto text = content_of(entry.path());
      const auto before = text;
      constexpr std::string_view kUuid = "GPU-5f1c0e52";
      for (auto at = text.find(kUuid); at != std::string::npos; at = text.find(kUuid, at)) {
        text.replace(at, kUuid.size(), "GPU-0badcafe");
      }
      if (text != before) std::ofstream(entry.path()) << text;
    }
  }

  int lost_disks_ = 0;
};

}  // namespace muster::e2e
