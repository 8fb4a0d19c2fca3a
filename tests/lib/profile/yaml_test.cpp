// SPDX-License-Identifier: Apache-2.0
// What is read as YAML, what is refused, and on which line.
#include "lib/profile/yaml.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/profile/yaml_pack.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

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

TEST(YamlTest, TellsNullFromTheQuotedWord) {
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

TEST(YamlTest, SyntaxErrorsHaveALine) {
  EXPECT_EQ(error_of("a: 1\nb: [1, 2\n"),
            "x.yaml:3: not YAML: did not find expected ',' or ']' while parsing a flow sequence");
}

TEST(YamlTest, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"),
            "x.yaml:3: the key 'a' stands here twice; first on line 1");
}

TEST(YamlTest, RefusesAliasesSoThatNoDocumentIsLargerThanItsText) {
  EXPECT_EQ(error_of("a: &x [1]\nb: *x\n"),
            "x.yaml:2: aliases (*name) are not supported; write the value out, or quote it");
}

TEST(YamlTest, RefusesTags) {
  EXPECT_EQ(error_of("a: !!str 1\n"), "x.yaml:1: tags (tag:yaml.org,2002:str) are not supported");
}

TEST(YamlTest, RefusesKeysThatAreNoWords) {
  EXPECT_EQ(error_of("[a]: 1\n"), "x.yaml:1: a key must be a word");
}

TEST(YamlTest, RefusesASecondDocument) {
  EXPECT_EQ(error_of("a: 1\n---\nb: 1\n"), "x.yaml:2: more than one document");
}

TEST(YamlTest, RefusesDeepNestingInsteadOfCrashing) {
  EXPECT_NE(error_of(std::string(100000, '[')), "");
}

TEST(YamlTextTest, SaysThatAFileIsMissing) {
  const TempDir dir;
  const auto text = read_yaml_text(dir.path() / "no.yaml");
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error(),
            (Error{.message = fmt::format("read {}/no.yaml: No such file or directory",
                                          dir.path().string()),
                   .missing = true}));
}

TEST(YamlTextTest, DoesNotWaitForAPipe) {
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

TEST(YamlTest, RefusesWhatIsNoText) {
  EXPECT_EQ(error_of("a: 1\nb: \x01\n"),
            "x.yaml:2: not YAML: a control character, or a byte that is not UTF-8");
  EXPECT_EQ(error_of("a: \xff\n"),
            "x.yaml:1: not YAML: a control character, or a byte that is not UTF-8");
}

TEST(YamlPackTest, KeepsEveryValueAndItsLine) {
  const auto parsed = parse_yaml("a: ~\nb:\n  - {c: x, d: [1, '']}\n  - yes\n", "x.yaml");
  ASSERT_TRUE(parsed.has_value());
  const auto packed = pack_yaml(*parsed);
  EXPECT_EQ(pack_yaml(unpack_yaml(packed)), packed);
  const Yaml again = unpack_yaml(packed);
  ASSERT_NE(again.find("b"), nullptr);
  EXPECT_EQ(again.entries.at(1).line, 2);
  EXPECT_EQ(again.find("b")->items.at(0).find("c")->text, "x");
  EXPECT_EQ(again.find("b")->items.at(1).line, 4);
}

TEST(YamlPackTest, UnpacksTheNamedKeysOnTheirLines) {
  const auto parsed = parse_yaml("schema: x\nrecognise:\n  gpus: 8\nname: y\n", "x.yaml");
  ASSERT_TRUE(parsed.has_value());
  const Yaml part = unpack_yaml(pack_yaml(*parsed), {"recognise"});
  ASSERT_EQ(part.entries.size(), 1U);
  EXPECT_EQ(part.entries.front().line, 2);
  EXPECT_EQ(part.entries.front().value.find("gpus")->text, "8");
}

}  // namespace
}  // namespace muster
