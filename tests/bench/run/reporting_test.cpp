// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reporting.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lib/base/text.hpp"
#include "lib/report/bench_checks.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

using ::testing::Each;
using ::testing::StartsWith;

class PrinterTest : public ::testing::Test {
 protected:
  PrinterTest() {
    console.out = [this](std::string_view text) -> Result<void> {
      if (broken) return make_error("write: No space left on device");
      out += text;
      return {};
    };
    console.note = [](std::string_view /*line*/) {};
    report.node = "gpu-0001";
    report.profile = "generic";
    report.findings = {{.check = "bench.data",
                        .device = "job",
                        .outcome = Outcome::fail,
                        .message = "rank 5: element 7 is -3, expected 3"}};
  }

  std::string out;
  bool broken = false;
  Console console;
  BenchCommand command;
  Report report;
};

TEST_F(PrinterTest, PrintsTheTableAtOnceAndTheReportAsItsComment) {
  Printer printer(command, console);
  printer.remark("a remark");
  printer.print("  8  2  float\n");
  EXPECT_EQ(out, "# a remark\n  8  2  float\n");
  out.clear();
  ASSERT_TRUE(printer.finish(report).has_value());
  EXPECT_THAT(split_lines(out), Each(StartsWith("#")));
  EXPECT_NE(out.find("rank 5: element 7 is -3, expected 3"), std::string::npos);
}

TEST_F(PrinterTest, ShowsProgressOnlyOnATerminalAndClearsIt) {
  {
    Printer printer(command, console);
    printer.progress("all_reduce of 8 GiB");
    EXPECT_EQ(out, "");
  }
  console.width = 20;
  Printer printer(command, console);
  printer.progress("all_reduce of 8 GiB; about 40 s left");
  EXPECT_THAT(out, StartsWith("\r\033[K# all_reduce of"));  // cut to the terminal's width
  EXPECT_EQ(out.find("left"), std::string::npos);
  out.clear();
  printer.print("row\n");
  EXPECT_EQ(out, "\r\033[Krow\n");
  out.clear();
  printer.progress("the last");
  ASSERT_TRUE(printer.finish(report).has_value());
  EXPECT_THAT(out, StartsWith("\r\033[K# the last\r\033[K# "));
  out.clear();
  command.quiet = true;
  printer.progress("nothing");
  EXPECT_EQ(out, "");
}

TEST_F(PrinterTest, AlwaysShowsTheBandwidthChecks) {
  for (const auto check : kBandwidthChecks) {
    report.findings = {{.check = std::string(check),
                        .device = "job",
                        .outcome = Outcome::skip,
                        .message = "without a limit"}};
    out.clear();
    Printer printer(command, console);
    ASSERT_TRUE(printer.finish(report).has_value());
    EXPECT_THAT(out, StartsWith(fmt::format("# skip     {}  job  without a limit\n", check)));
  }
}

TEST_F(PrinterTest, KeepsTheTableForTheFile) {
  const TempDir folder;
  command.output = (folder.path() / "report").string();
  Printer printer(command, console);
  printer.print("  8  2  float\n");
  EXPECT_FALSE(std::filesystem::exists(command.output));
  ASSERT_TRUE(printer.finish(report).has_value());
  EXPECT_EQ(out, "");
  std::ostringstream written;
  written << std::ifstream(command.output).rdbuf();
  EXPECT_THAT(written.str(), StartsWith("  8  2  float\n#"));
}

TEST_F(PrinterTest, KnowsBeforehandThatAFileCannotBeWritten) {
  const TempDir folder;
  command.output = (folder.path() / "report").string();
  EXPECT_TRUE(Printer(command, console).can_finish());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the check leaves nothing behind";
  command.output = (folder.path() / "missing" / "report").string();
  const auto can = Printer(command, console).can_finish();
  ASSERT_FALSE(can);
  EXPECT_THAT(can.error().message, ::testing::HasSubstr("No such file or directory"));
  command.output.clear();
  EXPECT_TRUE(Printer(command, console).can_finish());
}

TEST_F(PrinterTest, PrintsTheReportIfTheFileCannotBeWritten) {
  const TempDir folder;
  command.output = (folder.path() / "missing" / "report").string();
  Printer printer(command, console);
  printer.print("  8  2  float\n");
  EXPECT_FALSE(printer.finish(report));
  EXPECT_THAT(out, StartsWith("  8  2  float\n#"));
}

TEST_F(PrinterTest, PrintsOnlyTheReportForAnotherProgram) {
  command.format = Format::json;
  Printer printer(command, console);
  printer.remark("a remark");
  printer.print("  8  2  float\n");
  ASSERT_TRUE(printer.finish(report).has_value());
  EXPECT_THAT(out, StartsWith("{\n"));
}

TEST_F(PrinterTest, PrintsNoTableIfQuiet) {
  command.quiet = true;
  Printer printer(command, console);
  printer.print("  8  2  float\n");
  EXPECT_EQ(out, "");
}

TEST_F(PrinterTest, ReturnsTheFirstFailedWrite) {
  Printer printer(command, console);
  broken = true;
  printer.print("  8  2  float\n");
  broken = false;
  const auto finished = printer.finish(report);
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().message, "write: No space left on device");
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace muster::bench
