// SPDX-License-Identifier: Apache-2.0
#include "lib/hosts/hostlist.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>

#include "lib/base/descriptor.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using Texts = std::vector<std::pair<std::string_view, std::string_view>>;

std::vector<std::string> expand(std::string_view text) {
  const auto names = expand_hostlist(text);
  EXPECT_TRUE(names.has_value()) << (names ? "" : names.error().message);
  return names.value_or(std::vector<std::string>{});
}

std::string error_of(std::string_view text, std::size_t most = kMaxHosts) {
  const auto names = expand_hostlist(text, most);
  return names ? fmt::format("{} names", names->size()) : names.error().message;
}

TEST(ExpandHostlistTest, KeepsTheOrder) {
  EXPECT_THAT(expand("node1"), ElementsAre("node1"));
  EXPECT_THAT(expand("login,gpu-2,gpu-1,login"), ElementsAre("login", "gpu-2", "gpu-1", "login"));
  EXPECT_THAT(
      expand("n[1-3,7],gpu-a[01-02]-b[1-2]"),
      ElementsAre("n1", "n2", "n3", "n7", "gpu-a01-b1", "gpu-a01-b2", "gpu-a02-b1", "gpu-a02-b2"));
}

TEST(ExpandHostlistTest, PadsToTheWidthOfTheFirstNumber) {
  EXPECT_THAT(expand("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(expand("n[099-101]"), ElementsAre("n099", "n100", "n101"));
  EXPECT_THAT(expand("n[1,01,001]"), ElementsAre("n1", "n01", "n001"));
}

TEST(ExpandHostlistTest, AcceptsTextAroundBrackets) {
  EXPECT_THAT(expand("gpu-[08-09]-ib0.cluster"),
              ElementsAre("gpu-08-ib0.cluster", "gpu-09-ib0.cluster"));
  EXPECT_THAT(expand("[10-12]"), ElementsAre("10", "11", "12"));
  EXPECT_THAT(expand("r[1-2][3-4]"), ElementsAre("r13", "r14", "r23", "r24"));
  EXPECT_THAT(expand("n[5]"), ElementsAre("n5"));
}

// The expected results are those of `scontrol show hostnames` of Slurm 22.05.
TEST(ExpandHostlistTest, AgreesWithScontrol) {
  EXPECT_THAT(expand("n[0001-3]"), ElementsAre("n0001", "n0002", "n0003"));
  EXPECT_THAT(expand("n[00-1]"), ElementsAre("n00", "n01"));
  EXPECT_THAT(expand("n[1-03]"), ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(expand("n[9-010]"), ElementsAre("n9", "n10"));
  EXPECT_THAT(expand("n[1-3],,n5"), ElementsAre("n1", "n2", "n3", "n5"));
  EXPECT_THAT(expand(" n1 , n2 "), ElementsAre("n1", "n2"));
  EXPECT_THAT(expand(",n1,"), ElementsAre("n1"));
  EXPECT_THAT(expand("n[1-2] n3\nn4"), ElementsAre("n1", "n2", "n3", "n4"));
}

TEST(ExpandHostlistTest, RefusesABadListWithItsColumn) {
  const Texts cases{{"", "the host list is empty"},
                    {" \n", "the host list is empty"},
                    {"gpu-[1-4", "column 5: unmatched opening bracket"},
                    {"gpu-[1-4,", "column 10: expected a number"},
                    {"gpu-[", "column 6: expected a number"},
                    {"gpu-[]", "column 6: expected a number"},
                    {"gpu-[1,,2]", "column 8: expected a number"},
                    {"gpu-[1-]", "column 8: expected the number at the end of a range"},
                    {"gpu-[1-2-3]", "column 9: expected a comma, a hyphen or a closing bracket"},
                    {"gpu-1]", "column 6: unmatched closing bracket"},
                    {"gpu-[5-3]", "column 6: the range 5-3 runs backwards"},
                    {"gpu-[1-1234567890123456789]", "column 6: a number has more than 18 digits"},
                    {"n[1, 2]", "column 5: expected a number"},
                    {"n[1 -2]", "column 4: expected a comma, a hyphen or a closing bracket"},
                    {"$(id)", "column 1: invalid character in a host name"},
                    {"n1;n2", "column 3: invalid character in a host name"},
                    {"n[1-2]/2", "column 7: invalid character in a host name"},
                    {"n*", "column 2: invalid character in a host name"},
                    {"n1,-oProxyCommand", "column 4: a host name cannot begin with a hyphen"},
                    {"n\x01", "column 2: invalid character in a host name"},
                    {"n\xc3\xbc", "column 2: invalid character in a host name"}};
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(error_of(text), message);
    EXPECT_FALSE(first_of_hostlist(text)) << text;
  }
}

TEST(ExpandHostlistTest, RefusesMoreHostsThanAllowed) {
  EXPECT_EQ(error_of("n[1-4]", 4), "4 names");
  EXPECT_EQ(error_of("n[1-5]", 4), "column 1: the list has more than 4 hosts");
  EXPECT_EQ(error_of("n[1-3],m[1-2]", 4), "column 8: the list has more than 4 hosts");
  EXPECT_EQ(error_of("n[1-2]m[1-2]p[1-2]", 4), "column 1: the list has more than 4 hosts");
  EXPECT_EQ(error_of("n[0-1000000]"), "column 1: the list has more than 1000000 hosts");
  EXPECT_EQ(error_of("n[0-999999999999999999][0-999999999999999999]"),
            "column 1: the list has more than 1000000 hosts");
}

TEST(ExpandHostlistTest, RefusesLongNames) {
  EXPECT_EQ(error_of(std::string(255, 'n')), "1 names");
  EXPECT_EQ(error_of(fmt::format("m,{}[1-10]", std::string(254, 'n'))),
            "column 3: a host name has more than 255 characters");
}

TEST(FirstOfHostlistTest, ReturnsTheFirstName) {
  const Texts cases{{"node1", "node1"},
                    {"node1,node2", "node1"},
                    {"login,gpu-[1-4]", "login"},
                    {"gpu-[0007-0010,12]", "gpu-0007"},
                    {"gpu-[12,3-4]", "gpu-12"},
                    {"gpu-[5]", "gpu-5"},
                    {"gpu-[08-11]-ib0,login", "gpu-08-ib0"},
                    {"rack[2-3]n[001-016]", "rack2n001"},
                    {"[10-12]", "10"},
                    {"a.b.example,c", "a.b.example"},
                    {"n[0-999999999999]", "n0"}};
  for (const auto& [list, first] : cases) EXPECT_EQ(first_of_hostlist(list), first);
  EXPECT_EQ(first_of_hostlist("n1,n[2-").error().message,  // checks the whole list
            "column 8: expected the number at the end of a range");
}

TEST(FoldHostlistTest, IsShortAndSorted) {
  const std::vector<std::pair<std::vector<std::string>, std::string_view>> cases{
      {{}, ""},
      {{"", "n1"}, "n1"},
      {{"login"}, "login"},
      {{"tux1", "tux2", "tux3"}, "tux[1-3]"},
      {{"tux3", "tux1", "tux2", "tux1"}, "tux[1-3]"},
      {{"n10", "n9", "n2", "n1"}, "n[1-2,9-10]"},
      {{"n1", "n01"}, "n[1,01]"},
      {{"n8", "n9", "n08", "n09", "n10"}, "n[8-10,08-09]"},
      {{"n08", "n09", "n10", "n11"}, "n[08-11]"},
      {{"n099", "n100", "n0101"}, "n[099-100,0101]"},
      {{"gpu-001", "gpu-002", "gpu-064", "login"}, "gpu-[001-002,064],login"},
      {{"gpu-1-ib0", "gpu-2-ib0", "gpu-3-ib0"}, "gpu-[1-3]-ib0"},
      {{"r1n1", "r1n2", "r2n1", "r2n2"}, "r1n[1-2],r2n[1-2]"},
      {{"r1n1", "r2n1", "r3n1"}, "r[1-3]n1"},
      {{"r1n1", "r2n1", "r2n2", "r3n1"}, "r[1,3]n1,r2n[1-2]"},
      {{"r1n5", "r2n7"}, "r1n5,r2n7"},
      {{"1", "2", "3"}, "[1-3]"},
      {{"n2.b", "n10.a", "n2.a"}, "n[2,10].a,n2.b"},
      {{"b", "a", "a1"}, "a,a1,b"},
      {{"n1234567890123456789", "n1234567890123456790"},
       "n1234567890123456789,n1234567890123456790"},
      {{"n999999999999999998", "n999999999999999999"}, "n[999999999999999998-999999999999999999]"}};
  for (const auto& [names, list] : cases) EXPECT_EQ(fold_hostlist(names), list);
}

std::set<std::string> set_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

// Random names of few letters, so that they share parts, with numbers of any padding.
std::string random_name(std::mt19937& random) {
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  std::string name = below(4) == 0 ? "x" : "";
  const auto parts = 1 + below(4);
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (below(3) != 0)
      name += fmt::format("{:0{}}", below(below(2) == 0 ? 12 : 1200), 1 + below(4));
    // Names cannot begin with a hyphen.
    const auto letters = name.empty() ? std::string_view("ab.") : "ab.-";
    if (name.empty() || below(2) == 0)
      name.push_back(letters[below(static_cast<std::uint32_t>(letters.size()))]);
  }
  return name;
}

TEST(FoldHostlistTest, ExpandsToTheSameNames) {
  std::mt19937 random(20);  // NOLINT(cert-msc51-cpp): the same names every time
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> names;
    const auto count = 1 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) names.push_back(random_name(random));
    const auto list = fold_hostlist(names);
    EXPECT_EQ(set_of(expand(list)), set_of(names)) << list;
    EXPECT_EQ(expand(list).size(), set_of(names).size()) << list;
    std::ranges::reverse(names);
    EXPECT_EQ(fold_hostlist(names), list);
  }
}

TEST(FoldHostlistTest, FoldsALargeFleet) {
  const std::string fleet = "gpu-[000001-100000]";
  auto names = expand(fleet);
  ASSERT_EQ(names.size(), 100'000U);
  EXPECT_EQ(names.back(), "gpu-100000");
  std::ranges::reverse(names);
  EXPECT_EQ(fold_hostlist(names), fleet);

  std::string racks;
  for (int rack = 1; rack <= 100; ++rack) {
    racks += fmt::format("{}rack{}n[01-99,100]", rack == 1 ? "" : ",", rack);
  }
  names = expand(racks);
  ASSERT_EQ(names.size(), 10'000U);
  EXPECT_THAT(fold_hostlist(names), ::testing::StartsWith("rack1n[01-100],rack2n[01-"));
}

class HostWordsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file(std::string_view content) const {
    dir_.write("hosts", content);
    return "@" + (dir_.path() / "hosts").string();
  }

  [[nodiscard]] static std::string error_of(const std::string& word) {
    const auto hosts = hosts_of_words({word});
    return hosts ? "accepted" : hosts.error().message;
  }

  TempDir dir_;
};

TEST_F(HostWordsTest, ConcatenatesLists) {
  EXPECT_THAT(*hosts_of_words({"n[1-2]", "login"}), ElementsAre("n1", "n2", "login"));
  EXPECT_THAT(*hosts_of_words({}), IsEmpty());
}

TEST_F(HostWordsTest, ReadsListsFromAFile) {
  const auto word = file("n[1-2]\n\n# repaired\nn5, n7   # and this one\n");
  EXPECT_THAT(*hosts_of_words({word, "n9"}), ElementsAre("n1", "n2", "n5", "n7", "n9"));
}

TEST_F(HostWordsTest, ReadsStandardInputForAHyphen) {
  dir_.write("hosts", "n1\nn2\n");
  const Descriptor before(::dup(STDIN_FILENO));
  const Descriptor input(::open((dir_.path() / "hosts").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_GE(::dup2(input.get(), STDIN_FILENO), 0);
  const auto hosts = hosts_of_words({"-"});
  ::dup2(before.get(), STDIN_FILENO);
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_THAT(*hosts, ElementsAre("n1", "n2"));
}

TEST_F(HostWordsTest, NamesFileAndLineOfAnError) {
  EXPECT_THAT(error_of(file("n1\nn[2-\n")),
              EndsWith("/hosts: line 2, column 5: expected the number at the end of a range"));
  EXPECT_THAT(error_of(file("n1 slots=8\n")),
              EndsWith("/hosts: line 1, column 9: invalid character in a host name"));
  EXPECT_THAT(error_of(file("# comment\n")), EndsWith("/hosts: no hosts"));
  EXPECT_EQ(error_of("@/nowhere/hosts"), "/nowhere/hosts: No such file or directory");
}

}  // namespace
}  // namespace muster
