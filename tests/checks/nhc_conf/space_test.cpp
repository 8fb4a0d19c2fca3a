// SPDX-License-Identifier: Apache-2.0
// check_fs_size, _free, _used and the same of inodes, on literal mounts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/nhc_conf/judging.hpp"
#include "tests/checks/nhc_conf/judge_as.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::space_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;

// 100 GiB, of which 20 are in use and 60 free for users; 1000 inodes, 901 of them in use.
const Snapshot kNode{
    .mounts = observed(Mounts{
        .mounts = {{.point = "/tmp",
                    .type = "ext4",
                    .source = "/dev/sda1",
                    .space = Space{.total_bytes = 100 * kGib,
                                   .available_bytes = 60 * kGib,
                                   .used_bytes = 20 * kGib,
                                   .inodes_total = 1000,
                                   .inodes_free = 99}},
                   {.point = "/hung", .type = "nfs", .source = "fs:/x", .hung = true},
                   {.point = "/odd",
                    .type = "nfs",
                    .source = "fs:/y",
                    .space = Fact<Space>::unreadable("stale file handle")},
                   {.point = "/empty", .type = "tmpfs", .source = "none", .space = Space{}}}})};

Finding said(Outcome outcome, std::string message, std::string point = "/tmp") {
  return {.device = std::move(point),
          .outcome = outcome,
          .message = std::move(message),
          .remedy = outcome == Outcome::fail ? Remedy::fix_config : Remedy::none};
}

struct Case {
  std::string_view check;
  Arguments arguments;
  Outcome outcome;
  std::string_view message;
};

class NhcSpaceTest : public ::testing::TestWithParam<Case> {};

TEST_P(NhcSpaceTest, ReckonsAsDfDoes) {
  const auto& [check, arguments, outcome, message] = GetParam();
  EXPECT_THAT(judge_as(check, kNode, arguments), ElementsAre(said(outcome, std::string(message))));
}

INSTANTIATE_TEST_SUITE_P(
    Bytes, NhcSpaceTest,
    ::testing::Values(
        Case{"check_fs_size", {"/tmp", "100g", "100g"}, Outcome::pass, "/tmp has 100.0 GiB"},
        Case{"check_fs_size",
             {"/tmp", "101g"},
             Outcome::fail,
             "/tmp has 100.0 GiB, less than the 101.0 GiB wanted"},
        Case{"check_fs_size",
             {"/tmp", "", "99g"},
             Outcome::fail,
             "/tmp has 100.0 GiB, more than the 99.0 GiB wanted"},
        Case{"check_fs_free", {"/tmp", "75%"}, Outcome::pass, "/tmp has 60.0 GiB free (75%)"},
        Case{"check_fs_free",
             {"/tmp", "76%"},
             Outcome::fail,
             "/tmp has 60.0 GiB free (75%), less than the 76% wanted"},
        Case{"check_fs_free", {"/tmp", "60GB"}, Outcome::pass, "/tmp has 60.0 GiB free (75%)"},
        Case{"check_fs_free",
             {"/tmp", "61GB"},
             Outcome::fail,
             "/tmp has 60.0 GiB free (75%), less than the 61GB wanted"},
        Case{"check_fs_used", {"/tmp", "26%"}, Outcome::pass, "/tmp has 20.0 GiB in use (25%)"},
        Case{"check_fs_used",
             {"/tmp", "25%"},
             Outcome::fail,
             "/tmp has 20.0 GiB in use (25%), less than 25% wanted"},
        Case{"check_fs_used",
             {"/tmp", "20g"},
             Outcome::fail,
             "/tmp has 20.0 GiB in use (25%), less than 20g wanted"}));

INSTANTIATE_TEST_SUITE_P(
    Inodes, NhcSpaceTest,
    ::testing::Values(
        Case{"check_fs_inodes", {"/tmp", "1k"}, Outcome::pass, "/tmp has 1000 inodes"},
        Case{"check_fs_inodes",
             {"/tmp", "2k"},
             Outcome::fail,
             "/tmp has 1000 inodes, less than the 2000 inodes wanted"},
        Case{"check_fs_ifree", {"/tmp", "9%"}, Outcome::pass, "/tmp has 99 inodes free (9%)"},
        Case{"check_fs_ifree",
             {"/tmp", "10%"},
             Outcome::fail,
             "/tmp has 99 inodes free (9%), less than the 10% wanted"},
        Case{"check_fs_iused", {"/tmp", "92%"}, Outcome::pass, "/tmp has 901 inodes in use (91%)"},
        Case{"check_fs_iused",
             {"/tmp", "91%"},
             Outcome::fail,
             "/tmp has 901 inodes in use (91%), less than 91% wanted"}));

INSTANTIATE_TEST_SUITE_P(
    Unreadable, NhcSpaceTest,
    ::testing::Values(Case{"check_fs_free",
                           {"/tmp", "much"},
                           Outcome::unknown,
                           "not judged: expects a size as 512MB, got \"much\""},
                      Case{"check_fs_used",
                           {"/tmp", "%"},
                           Outcome::unknown,
                           "not judged: expects a share as 5%, got \"%\""},
                      Case{"check_fs_inodes",
                           {"/tmp", "x"},
                           Outcome::unknown,
                           "not judged: expects a number as 10k, got \"x\""}));

TEST(NhcSpacelessTest, NothingIsJudgedWhereNothingIsMountedOrCounted) {
  EXPECT_THAT(judge_as("check_fs_free", kNode, {"/scratch", "5%"}),
              ElementsAre(said(Outcome::skip, "nothing is mounted on /scratch", "/scratch")));
  EXPECT_THAT(judge_as("check_fs_ifree", kNode, {"/empty", "5%"}),
              ElementsAre(said(Outcome::skip, "/empty counts none", "/empty")));
}

TEST(NhcSpacelessTest, AMountThatHangsFailsAndOneThatErrsIsUndecided) {
  auto hung = said(Outcome::fail, "/hung did not answer", "/hung");
  hung.remedy = Remedy::restart_service;
  EXPECT_THAT(judge_as("check_fs_used", kNode, {"/hung", "5%"}), ElementsAre(hung));
  EXPECT_THAT(judge_as("check_fs_used", kNode, {"/odd", "5%"}),
              ElementsAre(said(Outcome::unknown,
                               "the space of /odd is not known: stale file handle", "/odd")));
}

}  // namespace
}  // namespace muster::nhc::space_test
