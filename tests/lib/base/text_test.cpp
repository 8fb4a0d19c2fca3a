// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.hpp"

#include "tests/support/matchers.hpp"

namespace muster {
namespace {

TEST(TextTest, TrimsBlanksOnBothSides) { EXPECT_EQ(trim(" \t a b\n"), "a b"); }

TEST(TextTest, SplitsKeepingEmptyParts) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
}

TEST(TextTest, SplitsWordsAtBlanks) {
  EXPECT_THAT(split_words("  a\t\tb \n"), ElementsAre("a", "b"));
}

TEST(TextTest, SplitsLinesWithoutALastNewline) {
  EXPECT_THAT(split_lines("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(split_lines(""), IsEmpty());
}

TEST(TextTest, ParsesOnlyCompleteNumbers) {
  EXPECT_EQ(*parse_unsigned("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(*parse_signed("-1"), -1);
  EXPECT_EQ(*parse_hex("0x8015"), 0x8015U);
  EXPECT_EQ(*parse_number("1.5"), 1.5);
  for (const auto* wrong : {"", " 1", "1 ", "+1", "-1", "1x", "18446744073709551616", "0x1"}) {
    EXPECT_FALSE(parse_unsigned(wrong)) << wrong;
  }
  for (const auto* wrong : {"", "nan", "inf", "1e999", "1.5 "}) {
    EXPECT_FALSE(parse_number(wrong)) << wrong;
  }
}

TEST(TextTest, QuotesTheTextInErrors) {
  EXPECT_EQ(parse_unsigned("N/A (no PMA)").error().message,
            "expected an unsigned number, got \"N/A (no PMA)\"");
}

TEST(TextTest, RoundTripsKernelLists) {
  EXPECT_THAT(*parse_cpu_list("8,0-2\n"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(*parse_cpu_list("\n"), IsEmpty());
  EXPECT_EQ(to_cpu_list({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  for (const auto* wrong : {"3-1", "a", "1,", "0-99999999", "-"}) {
    EXPECT_FALSE(parse_cpu_list(wrong)) << wrong;
  }
}

TEST(TextTest, MatchesGlobsOverTheWholeText) {
  EXPECT_TRUE(matches_glob("mlx5_ib*", "mlx5_ib0"));
  EXPECT_TRUE(matches_glob("*a?c*", "xxabcxx"));
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_TRUE(matches_glob("**", ""));
  EXPECT_FALSE(matches_glob("mlx5_ib", "mlx5_ib0"));
  EXPECT_FALSE(matches_glob("?", ""));
}

TEST(TextTest, MatchesManyStarsInLinearTime) {
  const std::string text(5000, 'a');
  EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*a*b", text));
}

TEST(TextTest, MakesHostileTextPrintable) {
  EXPECT_EQ(printable("a\x1b[31mb\n\tc\x7f"), "a\\x1b[31mb\\x0a\\x09c\\x7f");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  // NOLINTNEXTLINE(misc-misleading-bidirectional): on purpose
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xae"
            "b")
      << "right-to-left override";
}

TEST(TextTest, CutsLongTextAtACharacter) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abc…");
  EXPECT_EQ(printable("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 6), "\xc3\xa9…");
}

TEST(TextTest, FindsTheNearestWord) {
  EXPECT_EQ(nearest("totl", {"total", "tolerance"}), "total");
  EXPECT_EQ(nearest("xyz", {"total", "tolerance"}), "");
  EXPECT_EQ(nearest("", {"total", "tolerance"}), "");
  EXPECT_EQ(nearest("-J", {"-v", "-q", "--verbose"}), "");
  EXPECT_EQ(nearest("-V", {"-v", "-q"}), "-v");
}

TEST(TextTest, CountsSwappedLettersAsOneEdit) {
  EXPECT_EQ(nearest("chekc", {"check", "list"}), "check");
  EXPECT_EQ(nearest("dsik", {"cpu", "disk", "swap"}), "disk");
}

TEST(TextTest, IgnoresCaseInFindingTheNearestWord) {
  EXPECT_EQ(nearest("PROLOG", {"epilog", "prolog"}), "prolog");
  EXPECT_EQ(nearest("gb/s", {"GB/s"}), "GB/s");
}

TEST(TextTest, FindsTheOnlyWordWithAPrefixOrSuffix) {
  EXPECT_EQ(nearest("gpu.temp", {"gpu.power", "gpu.temperature"}), "gpu.temperature");
  EXPECT_EQ(nearest("temperature", {"gpu.power", "gpu.temperature"}), "gpu.temperature");
  EXPECT_EQ(nearest("errors", {"ib.errors", "pci.errors"}), "");
}

}  // namespace
}  // namespace muster
