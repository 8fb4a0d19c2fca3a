// SPDX-License-Identifier: Apache-2.0
// `muster repair` in a real Slurm, on simulated nodes: a reset that heals the node, faults that no
// step heals, and an admin who takes the node in between.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/e2e/slurm/muster_in_slurm.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

// The site's program that reaches a node: muster judges the node's tree, and the other commands are
// simulated.
constexpr std::string_view kReach = R"sh(#!/bin/sh
cd "${0%/*}" || exit 255
node=$1
shift
echo "$*" >>calls
case $* in
  *" check --only "*)
    exec "$@" --profile generic --root "$PWD/on-$node" --nvml "$PWD/on-$node/nvml/libnvidia-ml.so.1"
    ;;
  *" evidence --node "*) exec "$@" --root "$PWD/on-$node" ;;
  *--gpu-reset*) . ./reset ;;
esac
)sh";

class RepairInSlurm : public MusterInSlurm {
 protected:
  void SetUp() override {
    model_ = "bare_metal_h100";
    profile_ = "generic";
    MusterInSlurm::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(render("sick", "gpu_calls_for_a_reset"));
    const auto reach = trees_.path() / "reach";
    write("reach", kReach);
    std::filesystem::permissions(reach, std::filesystem::perms(0755));
    // The folder is next to the trees, which a repair swaps.
    site_ = fmt::format("repair: {{folder: /../repair, by: {}, automatic: [{}]}}\n", reach.string(),
                        "");
  }

  // A file next to the trees of nodes.
  void write(std::string_view name, std::string_view text) const {
    std::ofstream(trees_.path() / name) << text;
  }

  void automatic(std::string_view rung) {
    site_.replace(site_.find("[]"), 2, fmt::format("[{}]", rung));
  }

  [[nodiscard]] std::string go() {
    const auto ran = cluster().run({MUSTER_PROGRAM, "repair", "n1", "--go", "--root",
                                    trees_.path("on-n1"), "--state", trees_.path("admin")},
                                   {{"MUSTER_DATA_DIR", MUSTER_SOURCE_DIR "/configs"}});
    return ran.out + ran.err;
  }

  [[nodiscard]] std::string journal() const {
    return content_of(trees_.path() / "repair/journal.jsonl");
  }
};

constexpr std::string_view kHeals = "ln -s healthy next && mv -T next \"on-$node\"\n";

TEST_F(RepairInSlurm, AHookResetsAGpuAndTheNodeReturns) {
  automatic("reset_gpu");
  write("reset", kHeals);
  begin(1, ", clean_runs: 2");
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  ASSERT_TRUE(cluster().wait_until("n1", is_idle)) << events_of("n1") << journal();
  const auto calls = content_of(trees_.path() / "calls");
  EXPECT_LT(calls.find("evidence --node n1"), calls.find("--gpu-reset")) << calls;
  EXPECT_NE(calls.find("--gpu-reset"), std::string::npos);
  EXPECT_THAT(journal(), ::testing::ContainsRegex("\"evidence\":\"[0-9TZ]*.evidence.tar.gz\""));
  EXPECT_FALSE(std::filesystem::is_empty(trees_.path() / "repair/n1"));
  EXPECT_EQ(calls.find("--gpu-reset"), calls.rfind("--gpu-reset"));
  EXPECT_THAT(journal(),
              AllOf(HasSubstr("\"state\":\"reserved\""), HasSubstr("\"state\":\"succeeded\"")));
  const auto events = events_of("n1");
  EXPECT_LT(events.find("reset_gpu reserved"), events.find("reset_gpu succeeded")) << events;
  EXPECT_LT(events.find("reset_gpu succeeded"), events.find(" resumed n1 ")) << events;
}

// The reset and the reboot do nothing. The drain stays all the time.
TEST_F(RepairInSlurm, ReachesAClaimWhenNothingHeals) {
  ASSERT_TRUE(render("booted", "gpu_calls_for_a_reset"));
  std::ofstream(trees_.path() / "booted/proc/sys/kernel/random/boot_id")
      << "00000000-6a8e-4c1d-9d2b-0c54a1e7f002\n";
  write("reset", ":\n");
  begin(1, ", clean_runs: 1");
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  EXPECT_THAT(go(), HasSubstr("reset_gpu failed: gpu.recovery_action still fails afterwards"));
  EXPECT_THAT(go(), HasSubstr("Slurm reboots it"));
  ASSERT_TRUE(cluster().wait_until("n1", [](const SlurmNode& node) {
    return node.reason.find("reboot issued") != std::string::npos;
  })) << cluster().nodes().at("n1").reason;
  EXPECT_THAT(go(), HasSubstr("is under way"));
  cluster().kill_slurmd("n1");
  become("n1", "booted");
  std::this_thread::sleep_for(std::chrono::seconds(2));  // Slurm compares whole seconds
  cluster().start_slurmd("n1", true);
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << cluster().nodes().at("n1").state;
  EXPECT_THAT(cluster().nodes().at("n1").reason, StartsWith("muster: gpu.recovery_action gpu6"));
  EXPECT_THAT(go(), AllOf(HasSubstr("reboot failed: rebooted, and gpu.recovery_action still fails"),
                          HasSubstr("claim: ")))
      << journal() << cluster().scontrol({"show", "node", "n1"}).out;
  const auto events = events_of("n1");
  EXPECT_THAT(events, AllOf(Not(HasSubstr(" resumed n1 ")), Not(HasSubstr(" released n1 "))))
      << journal();
}

TEST_F(RepairInSlurm, LeavesANodeToAnAdminWhoTakesIt) {
  write(
      "reset",
      fmt::format("{}scontrol update nodename=n1 state=drain 'reason=cable, ask alice'\n", kHeals));
  begin(1, ", clean_runs: 1");
  become("n1", "sick");
  ASSERT_TRUE(cluster().wait_until("n1", is_drained)) << events_of("n1");
  EXPECT_THAT(go(), HasSubstr("reset_gpu superseded: "));
  EXPECT_THAT(go(), HasSubstr("left alone: "));
  std::this_thread::sleep_for(std::chrono::seconds(4));  // for two health checks
  EXPECT_TRUE(is_drained(cluster().nodes().at("n1")));
  EXPECT_EQ(cluster().nodes().at("n1").reason, "cable, ask alice");
}

}  // namespace
}  // namespace muster::e2e
