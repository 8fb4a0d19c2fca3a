// SPDX-License-Identifier: Apache-2.0
// gpu.sxid judged by the shipped rules.

#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/xid_node.hpp"

namespace muster::gpu_sxid_test {
namespace {

using namespace xid_node;  // NOLINT(google-build-using-namespace): the node of this test

KernelRecord sxid(std::string_view what) {
  return line(9 * kHour, fmt::format("nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): {}", what));
}

// A host with two NVSwitches.
Snapshot host(std::vector<KernelRecord> records) {
  Snapshot snapshot = bare_metal(std::move(records));
  for (const auto* address : {"0000:c3:00.0", "0000:c4:00.0"}) {
    snapshot.pci->devices.push_back({.address = address, .kind = PciKind::nvswitch});
  }
  return snapshot;
}

Findings judge(const Snapshot& snapshot) {
  return ask(checks::gpu_sxid::check, snapshot, profile());
}

Finding only(const Snapshot& snapshot) {
  const auto findings = judge(snapshot);
  EXPECT_THAT(findings, SizeIs(1));
  return findings.front();
}

TEST(GpuSxidTest, SkipsANodeThatDoesNotOwnItsSwitches) {
  EXPECT_THAT(judge(host({})), ElementsAre(passes()));
  EXPECT_THAT(judge(node({})), ElementsAre(skips()));
  EXPECT_EQ(only(node({sxid("22003, Fatal, error")})).device, "0000:c4:00.0");
}

TEST(GpuSxidTest, TheLinesOwnWordDecides) {
  const Finding fatal = only(host({sxid("11004, Fatal, Link 30 error")}));
  EXPECT_EQ(fatal.device, "nvswitch1");
  EXPECT_EQ(fatal.outcome, Outcome::fail);
  EXPECT_EQ(fatal.remedy, Remedy::reset_gpu);
  EXPECT_EQ(fatal.observed, Value(std::int64_t{11004}));
  EXPECT_THAT(fatal.message, HasSubstr("SXID 11004 ("));
  const Finding harmless = only(host({sxid("22003, Non-fatal, Link 30 error")}));
  EXPECT_EQ(harmless.outcome, Outcome::warn);
  EXPECT_EQ(harmless.remedy, Remedy::watch);
}

TEST(GpuSxidTest, TheTableDecidesIfTheLineDoesNot) {
  EXPECT_EQ(only(host({sxid("23001, Link 30 error")})).remedy, Remedy::reboot);
  EXPECT_EQ(only(host({sxid("12002, Link 30 error")})).remedy, Remedy::reset_gpu);
  EXPECT_EQ(only(host({sxid("15008, Link 30 error")})).outcome, Outcome::warn);
  EXPECT_EQ(only(host({sxid("99999, Link 30 error")})).outcome, Outcome::warn);
}

TEST(GpuSxidTest, ALinkThatTrainedAgainIsAWarningUnlessItIsStillDown) {
  const auto fault = sxid("20034, Fatal, Link 30 LTSSM Fault Up");
  const Finding after_a_reset = only(host({fault}));
  EXPECT_EQ(after_a_reset.outcome, Outcome::warn);
  EXPECT_EQ(after_a_reset.remedy, Remedy::watch);
  EXPECT_EQ(after_a_reset.message,
            "SXID 20034 (a link of the NVSwitch lost its training), degraded, 60 min ago; "
            "0000:c4:00.0; every GPU reset causes these, too; no link is down and no GPU "
            "reported an NVLink error");

  Snapshot down = host({fault});
  down.nvml->gpus[0].nvlinks = std::vector{NvLink{.link = 3, .state = 0U}};
  EXPECT_EQ(only(down).outcome, Outcome::fail);
  EXPECT_THAT(only(down).message, HasSubstr("lost its training), fatal, 60 min ago"));
  EXPECT_EQ(only(host({xid(9 * kHour, "74, NVLink: fatal error"), fault})).outcome, Outcome::fail);
}

TEST(GpuSxidTest, AnNvlinkErrorOfAnotherTimeIsNoneOfTheLinkFaults) {
  const auto fault = sxid("20034, Fatal, Link 30 LTSSM Fault Up");
  EXPECT_EQ(only(host({xid(kHour, "74, NVLink: fatal error"), fault})).outcome, Outcome::warn);
  EXPECT_EQ(only(host({xid(9 * kHour - 1, "74, NVLink: fatal error"),
                       line(9 * kHour - 0.5, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535"),
                       fault}))
                .outcome,
            Outcome::warn);
}

}  // namespace
}  // namespace muster::gpu_sxid_test
