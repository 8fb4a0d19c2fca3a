// SPDX-License-Identifier: Apache-2.0
// Lines of many versions of the NVIDIA driver.
#include "lib/node/xid.hpp"

#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"

namespace muster {
namespace {

XidLog parse(const std::vector<std::string>& lines) {
  KernelLog log;
  std::uint64_t time_us = 0;
  for (const auto& text : lines) log.records.push_back({.time_us = ++time_us, .text = text});
  return parse_xids(log);
}

// The event in a log of one line.
XidEvent parse_one(const std::string& line) {
  const auto events = parse({line}).events;
  EXPECT_EQ(events.size(), 1U) << line;
  return events.empty() ? XidEvent{} : events.front();
}

XidEvent event(unsigned code, std::string text) {
  return {.address = "0001:00:00.0",
          .code = code,
          .first_us = 1,
          .last_us = 1,
          .lines = 1,
          .text = std::move(text)};
}

TEST(XidLineTest, ReadsTheProcess) {
  XidEvent expected = event(79, "GPU has fallen off the bus.");
  expected.pid = 1234;
  expected.process = "python3";
  EXPECT_EQ(parse_one("NVRM: Xid (PCI:0001:00:00): 79, pid=1234, name=python3, GPU has fallen off "
                      "the bus."),
            expected);
}

TEST(XidLineTest, ReadsALineWithoutAProcess) {
  const auto expected = event(79, "GPU has fallen off the bus.");
  for (const auto* line :
       {"NVRM: Xid (PCI:0001:00:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
        "bus.",
        "NVRM: Xid (PCI:0001:00:00): 79, GPU has fallen off the bus.",
        "NVRM: GPU 0001:00:00.0: GPU has fallen off the bus."}) {
    EXPECT_EQ(parse_one(line), expected) << line;
  }
}

TEST(XidLineTest, IsNotConfusedByProcessNames) {
  const auto parsed =
      parse_one("NVRM: Xid (PCI:0001:00:00): 13, pid=7, name=a 79, b, Graphics SM Warp Exception");
  EXPECT_EQ(parsed.code, 13U);
  EXPECT_EQ(parsed.process, "a 79");
}

TEST(XidLineTest, ReadsTheInstanceOfAPartitionedGpu) {
  const auto parsed =
      parse_one("NVRM: Xid (PCI:0001:00:00 GPU-I:02 GPU-CI:00): 31, pid=7, name=x, MMU Fault");
  EXPECT_EQ(parsed.code, 31U);
  EXPECT_EQ(parsed.address, "0001:00:00.0");
  EXPECT_EQ(parsed.instance, "GPU-I:02 GPU-CI:00");
}

TEST(XidLineTest, ReadsOtherFormsOfAddresses) {
  const auto parsed = parse_one("NVRM: Xid (0000:03:00): 14, Channel 00000001");
  EXPECT_EQ(parsed.code, 14U);
  EXPECT_EQ(parsed.address, "0000:03:00.0");
  EXPECT_EQ(parsed.text, "Channel 00000001");
  EXPECT_EQ(parse_one("NVRM: Xid (PCI:000A:C3:00): 31, MMU Fault").address, "000a:c3:00.0");
}

TEST(XidLineTest, JoinsTheLinesAboutAGpuThatIsLost) {
  for (const auto& lines : std::vector<std::vector<std::string>>{
           {"NVRM: The NVIDIA GPU 0000:18:00.0",
            "NVRM: (PCI ID: 10de:20b0) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands."},
           {"NVRM: The NVIDIA GPU 0000:18:00.0\\x0aNVRM: (PCI ID: 10de:20b0) has\\x0a"
            "NVRM: fallen off the bus and is not responding to commands."}}) {
    const auto log = parse(lines);
    ASSERT_EQ(log.events.size(), 1U);
    EXPECT_EQ(log.events[0].code, 79U);
    EXPECT_EQ(log.events[0].address, "0000:18:00.0");
  }
}

TEST(XidLineTest, ReadsUuidAndSerial) {
  const auto log = parse({"NVRM: GPU at PCI:0001:00:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7",
                          "NVRM: GPU Board Serial Number: 1650923012345",
                          "NVRM: Xid (PCI:0001:00:00): 79, GPU has fallen off the bus."});
  ASSERT_EQ(log.subjects.size(), 1U);
  EXPECT_EQ(
      log.subjects.at("0001:00:00.0"),
      (XidSubject{.uuid = "GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7", .serial = "1650923012345"}));
}

// The driver announces itself at the end of loading, after messages about GPUs.
TEST(XidLineTest, DatesALoadByItsFirstLine) {
  const auto log =
      parse({"NVRM: Xid (PCI:0001:00:00): 48, DBE",
             "nvidia-nvlink: Nvlink Core is being initialized, major device number 511",
             "NVRM: The NVIDIA GPU 0000:18:00.0",
             "NVRM: fallen off the bus and is not responding to commands.",
             "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08"});
  ASSERT_EQ(log.events.size(), 2U);
  EXPECT_THAT(log.driver_loaded_us, ElementsAre(2U));
  EXPECT_GT(log.events[1].first_us, 2U);
  const auto old = parse({"NVRM: The NVIDIA GPU 0000:18:00.0",
                          "NVRM: fallen off the bus and is not responding to commands.",
                          "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  470.57"});
  ASSERT_EQ(old.driver_loaded_us.size(), 1U);
  EXPECT_LT(old.driver_loaded_us[0], old.events[0].first_us);
  EXPECT_THAT(
      parse({"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08"}).driver_loaded_us,
      ElementsAre(1U));
}

TEST(XidLineTest, ReadsAnSxidWithoutItsData) {
  const auto log =
      parse({"nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
             "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Severity 1 Engine instance 60 Sub-"
             "engine instance 00",
             "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Data {0x00000002, 0x00000002}"});
  ASSERT_EQ(log.events.size(), 1U);
  EXPECT_TRUE(log.events[0].nvswitch);
  EXPECT_EQ(log.events[0].address, "0000:c3:00.0");
  EXPECT_EQ(log.events[0].code, 20034U);
  EXPECT_EQ(log.events[0].text, "Fatal, Link 30 LTSSM Fault Up");
}

TEST(XidLineTest, CountsRepeats) {
  KernelLog log;
  log.records.push_back({.time_us = 10,
                         .text = "NVRM: Xid (PCI:0001:00:00): 95, Uncontained ECC error.",
                         .repeats = 800000,
                         .last_us = 900});
  const auto events = parse_xids(log).events;
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].lines, 800000U);
  EXPECT_EQ(events[0].first_us, 10U);
  EXPECT_EQ(events[0].last_us, 900U);
}

TEST(XidLineTest, BelievesProgramsOnlyOnRequest) {
  KernelLog log;
  log.records.push_back({.facility = 1, .text = "NVRM: Xid (PCI:0001:00:00): 79, lost"});
  EXPECT_THAT(parse_xids(log).events, IsEmpty());
  EXPECT_EQ(parse_xids(log, true).events.size(), 1U);
}

TEST(XidLineTest, IgnoresOtherLines) {
  for (const auto* line :
       {"", "NVRM: ", "NVRM: Xid", "NVRM: Xid (", "NVRM: Xid (PCI:0001:00:00)",
        "NVRM: Xid (PCI:0001:00:00): ", "NVRM: Xid (PCI:0001:00:00): lost",
        "NVRM: Xid (PCI:0001:00:00): 99999999999, x", "NVRM: Xid (PCI:nowhere): 79, x",
        "NVRM: Xid (PCI:0001:00): 79, x", "NVRM: Xid (PCI:0001:000:00): 79, x",
        "python: NVRM: Xid (PCI:0001:00:00): 79, x",
        "NVRM: GPU 0001:00:00.0: RmInitAdapter failed! (0x26:0x56:1463)",
        "NVRM: fallen off the bus and is not responding to commands.", "nvidia-nvswitch0: SXid",
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0)", "nvidia-nvswitch0: open (major=510)"}) {
    EXPECT_THAT(parse({line}).events, IsEmpty()) << line;
  }
}

TEST(RecoveryActionTest, IsTheNewValue) {
  EXPECT_EQ(parse_recovery_action(
                "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
            2U);
  EXPECT_EQ(parse_recovery_action("GPU recovery action changed from 0x1 (GPU Reset Required) to "
                                  "0x0 (None)"),
            0U);
  EXPECT_EQ(parse_recovery_action("GPU recovery action changed"), std::nullopt);
  EXPECT_EQ(parse_recovery_action("changed from 0x0 to 0x"), std::nullopt);
  EXPECT_EQ(parse_recovery_action("changed from 0x0 to 0xfffffffff"), std::nullopt);
}

}  // namespace
}  // namespace muster
