// SPDX-License-Identifier: Apache-2.0
// The kernel log holds text that users choose. It can forge no finding and break no format, and
// lines that user space writes to the log cannot fail a node.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

Examination examine_with(std::vector<nodes::KernelRecordDescription> records) {
  static Stage stage;
  auto node = nodes::hb176rs_v4();
  for (auto& record : records) {
    record.time_us = static_cast<std::uint64_t>((node.system.uptime_s - 600) * 1e6);
    node.kernel_log.push_back(std::move(record));
  }
  stage.show(render(node));
  return examine(stage.root(), {.profile = node.profile});
}

TEST(HostileKernelLogTest, LinesFromUserSpaceFailNothing) {
  const auto seen = examine_with({
      {.level = 0, .facility = 1, .text = "watchdog: BUG: soft lockup - CPU#3 stuck for 22s!"},
      {.level = 2, .facility = 3, .text = "EXT4-fs error (device sda1): ext4_find_entry:1455"},
      {.level = 3,
       .facility = 1,
       .text = "NVRM: Xid (PCI:0001:00:00): 79, GPU has fallen off the bus."},
      {.level = 1,
       .facility = 23,
       .text = "mce: [Hardware Error]: CPU 1: Machine Check Exception: 5"},
  });
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
}

TEST(HostileKernelLogTest, ProcessNamesForgeNoFinding) {
  const auto seen = examine_with({
      {.level = 6,
       .text = "EXT4-fs error ([4242]: segfault at 0 ip 00007f sp 00007ffd error 4 in "
               "libc.so.6[7f+1c]"},
      {.level = 6,
       .text = "traps: BUG: Bad page s[4242] trap invalid opcode ip:40 sp:7f error:0 in x"},
      {.level = 6, .text = "soft lockup - C[4242]: unhandled exception: DABT"},
      {.level = 4,
       .text = "I/O error, dev invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE)"},
  });
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
}

TEST(HostileKernelLogTest, ARecordWithinARecordIsText) {
  // The kernel escapes unprintable characters. In the file a newline starts a record or, before a
  // blank, a dictionary line.
  const auto seen = examine_with({
      {.level = 6, .text = "usb 1-1: Product: x\\x0a2,9999,1,-;watchdog: BUG: soft lockup - CPU#1"},
      {.level = 6,
       .text = "usb 1-1: new device\n 2,9999,1,-;watchdog: BUG: soft lockup - CPU#1 stuck"},
  });
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
}

// Ten minutes ago, on a node without its own GPU.
TEST(XidStormTest, AHundredThousandLinesAreOneIncident) {
  constexpr std::size_t kLines = 100'000;
  const auto seen = examine_with(std::vector<nodes::KernelRecordDescription>(
      kLines, {.level = 3,
               .text = "NVRM: Xid (PCI:0001:00:00): 95, pid=7, name=x, Uncontained ECC error"}));
  EXPECT_THAT(concerns(seen.report), ElementsAre("fail gpu.xid 0001:00:00.0"))
      << explain(seen.report);
  EXPECT_THAT(seen.report.findings.front().message, HasSubstr("; 1 incident (100000 lines);"));
}

TEST(XidStormTest, TheErrorsOfAProgramFailNothing) {
  std::vector<nodes::KernelRecordDescription> records;
  for (const auto* error : {"13, Graphics", "31, MMU Fault", "43, Ch 1", "45, Ch 1", "68, x",
                            "69, x", "94, Contained"}) {
    records.push_back({.level = 3, .text = fmt::format("NVRM: Xid (PCI:0001:00:00): {}", error)});
  }
  const auto seen = examine_with(std::move(records));
  EXPECT_EQ(seen.report.verdict, Verdict::healthy) << explain(seen.report);
}

TEST(HostileKernelLogTest, HostileTextBreaksNoFormat) {
  const auto seen = examine_with({
      {.level = 2,
       .text =
           R"(EXT4-fs error (device sda1): comm \x1b[2J$(reboot)`id`\x0a"'<b>&amp;\xff\\: bad)"},
  });
  ASSERT_THAT(concerns(seen.report), ElementsAre(HasSubstr("fail host.kernel_log")))
      << explain(seen.report);
  const auto json = nlohmann::json::parse(to_json(seen.report), nullptr, false);
  EXPECT_FALSE(json.is_discarded());
  const std::vector<std::string> texts{to_text(seen.report), to_prometheus(seen.report),
                                       to_junit(seen.report)};
  EXPECT_THAT(texts, Each(Not(HasSubstr("\x1b"))));
  EXPECT_THAT(to_junit(seen.report), Not(HasSubstr("<b>")));
  const auto nhc = to_nhc(seen.report);
  EXPECT_EQ(std::ranges::count(nhc, '\n'), 1);
  EXPECT_EQ(nhc.find_first_of(R"($`\"'*?<>&|(){}[])"), std::string::npos) << nhc;
  const auto npd = to_npd(seen.report);
  EXPECT_EQ(std::ranges::count(npd, '\n'), 1);
  EXPECT_LE(npd.size(), 81U);
}

}  // namespace
}  // namespace muster::e2e
