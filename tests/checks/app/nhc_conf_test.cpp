// SPDX-License-Identifier: Apache-2.0
// `muster check --nhc-conf` below a root that holds next to nothing, and on what it saved.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/report/report.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NhcConfTest : public ::testing::Test {
 protected:
  NhcConfTest() {
    dir_.write("root/proc/sys/kernel/hostname", "node-7\n");
    dir_.write("root/sys/class/net/eth0/operstate", "up\n");
  }

  [[nodiscard]] std::string path(std::string_view name) const {
    return (dir_.path() / name).string();
  }

  int check(std::string_view configuration, CheckCommand command = {}) {
    dir_.write("nhc.conf", configuration);
    command.profile = "generic";
    if (command.nhc_conf.empty()) command.nhc_conf = path("nhc.conf");
    command.format = Format::json;
    if (command.snapshots.empty()) command.root = path("root");
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    TestCaller caller;
    const int status = command.snapshots.empty() ? run_check(command, caller.caller(), deadline)
                                                 : run_replay(command, caller.caller());
    notes_ = caller.notes();
    const auto report = parse_report(caller.out());
    report_ = report ? *report : Report{};
    return status;
  }

  [[nodiscard]] std::vector<std::string> outcomes() const {
    std::vector<std::string> outcomes;
    for (const auto& check : report_.checks) {
      outcomes.push_back(fmt::format("{} {}", to_string(check.outcome), check.id));
    }
    return outcomes;
  }

  TempDir dir_;
  Report report_;
  std::string notes_;
};

TEST_F(NhcConfTest, RunsOnlyTheLinesForThisNode) {
  EXPECT_EQ(check("* || check_hw_eth eth0\nnode-8 || check_hw_eth eth9\n"), 0);
  EXPECT_THAT(outcomes(), ElementsAre("pass nhc.check_hw_eth"));
  EXPECT_EQ(report_.node, "node-7");
  EXPECT_EQ(report_.profile, "generic");
}

TEST_F(NhcConfTest, AFailedLineIsUnhealthy) {
  EXPECT_EQ(check("node-[0-9] || check_hw_eth eth9\n"), 1);
  ASSERT_EQ(report_.findings.size(), 1U);
  EXPECT_EQ(report_.findings.front().message,
            fmt::format("no interface eth9 ({}:1)", path("nhc.conf")));
}

TEST_F(NhcConfTest, ALineThatIsNotTranslatedIsUndecided) {
  EXPECT_EQ(check("* || check_hw_eth eth0\n* || check_this\n"), 2);
  EXPECT_THAT(outcomes(), ElementsAre("pass nhc.check_hw_eth", "unknown nhc.check_this"));
}

TEST_F(NhcConfTest, ASavedSnapshotHasTheSameReport) {
  constexpr std::string_view kLines = "* || check_hw_eth eth0\n* || check_hw_eth eth9\n";
  EXPECT_EQ(check(kLines, {.save_snapshot = path("node.json")}), 1);
  const auto first = outcomes();
  EXPECT_EQ(check(kLines, {.snapshots = {path("node.json")}}), 1);
  EXPECT_EQ(outcomes(), first);
}

TEST_F(NhcConfTest, AFileThatCannotBeReadIsBadConfiguration) {
  for (const auto& snapshots : {std::vector<std::string>{}, {path("node.json")}}) {
    TestCaller caller;
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    const CheckCommand asked{
        .nhc_conf = path("gone.conf"), .snapshots = snapshots, .root = path("root")};
    const int status = snapshots.empty() ? run_check(asked, caller.caller(), deadline)
                                         : run_replay(asked, caller.caller());
    EXPECT_EQ(status, kExitConfiguration);
    EXPECT_THAT(caller.notes(), HasSubstr("gone.conf: No such file or directory"));
    EXPECT_EQ(caller.out(), "");
  }
}

TEST_F(NhcConfTest, InAFolderReadsTheFileForTheSize) {
  dir_.write("conf/nd96isr_h100_v5.conf", "* || check_hw_eth eth0\n");
  dir_.write("conf/hb120rs_v3.conf", "* || check_hw_eth eth9\n");
  const CheckCommand asked{.nhc_conf = path("conf"), .save_snapshot = path("sized.json")};
  EXPECT_EQ(check("", asked), kExitConfiguration);
  EXPECT_THAT(notes_, HasSubstr("the size of this node is unknown"));
  dir_.write(
      "root/run/cloud-init/instance-data.json",
      R"({"ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_ND96isr_H100_v5"}}}}})");
  EXPECT_EQ(check("", asked), 0);
  EXPECT_EQ(outcomes(), std::vector<std::string>{"pass nhc.check_hw_eth"});
  EXPECT_EQ(check("", {.nhc_conf = path("conf"), .snapshots = {path("sized.json")}}), 0);
  EXPECT_EQ(outcomes(), std::vector<std::string>{"pass nhc.check_hw_eth"});
  dir_.remove("conf/nd96isr_h100_v5.conf");
  EXPECT_EQ(check("", asked), kExitConfiguration);
  EXPECT_THAT(notes_, HasSubstr("nd96isr_h100_v5.conf: No such file or directory"));
}

TEST_F(NhcConfTest, AFileThatIsTooLargeIsBadConfiguration) {
  EXPECT_EQ(check(std::string(1024UL * 1024 + 1, '#')), kExitConfiguration);
  EXPECT_THAT(notes_, HasSubstr("nhc.conf"));
}

}  // namespace
}  // namespace muster::app
