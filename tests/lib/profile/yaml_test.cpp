// SPDX-License-Identifier: Apache-2.0
// Which YAML is accepted, and the line of each error.
#include "lib/profile/yaml.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <tuple>

#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(std::string_view text) {
  const auto parsed = parse_yaml(text, "x.yaml");
  return parsed ? std::string() : parsed.error().message;
}

TEST(YamlTest, KeepsTheLineOfEveryKey) {
  const auto parsed = parse_yaml("a: 1\n\nb:\n  c: {d: x,\n      e: y}\n", "x.yaml");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->entries.at(0).line, 1);
  EXPECT_EQ(parsed->entries.at(1).line, 3);
  const Yaml& c = parsed->entries.at(1).value.entries.at(0).value;
  EXPECT_EQ(c.entries.at(0).line, 4);
  EXPECT_EQ(c.entries.at(1).line, 5);
}

TEST(YamlTest, DistinguishesNullFromTheQuotedWord) {
  const auto parsed = parse_yaml("[null, ~, 'null']", "x.yaml");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->items.at(0).kind, Yaml::Kind::null);
  EXPECT_EQ(parsed->items.at(1).kind, Yaml::Kind::null);
  EXPECT_EQ(parsed->items.at(2).kind, Yaml::Kind::scalar);
  EXPECT_EQ(parsed->items.at(2).text, "null");
}

TEST(YamlTest, AnEmptyTextIsNull) {
  const auto parsed = parse_yaml("# nothing\n", "x.yaml");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->kind, Yaml::Kind::null);
}

TEST(YamlTest, ErrorsNameTheLine) {
  for (const auto& [text, line, what] : {std::tuple{"a: 1\nb: [1, 2\n", 3, "invalid YAML"},
                                         {"a: 1\nb: \x01\n", 2, "control character"},
                                         {"a: \xff\n", 1, "UTF-8"},
                                         {"a: 1\nb: *.service\n", 2, "quote"},
                                         {"a: 1\nb: 2\na: 3\n", 3, "first on line 1"},
                                         {"a: !!str 1\n", 1, "tags"},
                                         {"a: !x [1]\n", 1, "tags"},
                                         {"[a]: 1\n", 1, "key"},
                                         {"~: 1\n", 1, "key"},
                                         {"a: 1\n---\nb: 1\n", 3, "more than one document"}}) {
    EXPECT_THAT(error_of(text),
                AllOf(StartsWith(fmt::format("x.yaml:{}: ", line)), HasSubstr(what)))
        << text;
  }
}

TEST(YamlTest, AnAliasRepeatsAValue) {
  const auto parsed = parse_yaml("a: &x [1]\nb: *x\n", "x.yaml");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->find("b")->items.at(0).text, "1");
}

TEST(YamlTest, AliasesCannotMakeADocumentLargerThanItsText) {
  std::string text = "a0: &a0 [x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    text += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  EXPECT_THAT(error_of(text), HasSubstr("aliases"));
  EXPECT_NE(error_of("a: &x [*x]\n"), "");
}

TEST(YamlTest, RefusesDeepNestingInsteadOfCrashing) {
  EXPECT_NE(error_of(std::string(100000, '[')), "");
  EXPECT_NE(error_of(std::string(100, '[') + std::string(100, ']')), "");
}

TEST(YamlTextTest, ReportsAMissingFile) {
  const TempDir dir;
  const auto text = read_yaml_text(dir.path() / "no.yaml");
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error(),
            (Error{.message = fmt::format("read {}/no.yaml: No such file or directory",
                                          dir.path().string()),
                   .missing = true}));
}

TEST(YamlTextTest, DoesNotBlockOnAPipe) {
  const TempDir dir;
  const auto path = dir.path() / "pipe.yaml";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto text = read_yaml_text(path);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().message, fmt::format("read {}: not a regular file", path.string()));
}

TEST(YamlTextTest, RefusesAHugeFile) {
  const TempDir dir;
  dir.write("big.yaml", std::string(300UL * 1024, '#'));
  const auto text = read_yaml_text(dir.path() / "big.yaml");
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().message,
            fmt::format("read {}/big.yaml: larger than 256 KiB", dir.path().string()));
}

}  // namespace
}  // namespace muster
