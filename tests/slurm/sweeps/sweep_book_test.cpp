// SPDX-License-Identifier: Apache-2.0
// What past runs say about a node.
#include "slurm/sweeps/sweep_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tests/slurm/sweeps/sweeping.hpp"

namespace muster::slurm {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr int kPartners = 3;

struct BookCase {
  std::string_view name;
  std::vector<Past> past;
  std::string_view node;
  Trust trust;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const BookCase& test, std::ostream* out) { *out << test.name; }

class SweepTrust : public ::testing::TestWithParam<BookCase> {};

TEST_P(SweepTrust, FollowsFromThePast) {
  const auto& test = GetParam();
  EXPECT_EQ(SweepBook(runs_of(test.past), kPartners).trust(test.node), test.trust);
}

// Three partners, each of which passed with n9 after it failed with n1.
const std::vector<Past> kThreePartners{{0, "n1 n2 unhealthy"}, {1, "n2 n9 healthy"},
                                       {2, "n1 n3 unhealthy"}, {3, "n3 n9 healthy"},
                                       {4, "n1 n4 unhealthy"}, {5, "n4 n9 healthy"}};

std::vector<Past> with(std::vector<Past> past, const std::vector<Past>& more) {
  past.insert(past.end(), more.begin(), more.end());
  return past;
}

INSTANTIATE_TEST_SUITE_P(
    Each, SweepTrust,
    ::testing::Values(
        BookCase{"nobody_knows", {}, "n1", Trust::untested},
        BookCase{"others_are_known", {{0, "n2 n3 healthy"}}, "n1", Trust::untested},
        BookCase{"passed", {{0, "n1 n2 healthy"}}, "n1", Trust::good},
        BookCase{"failed_with_another", {{0, "n1 n2 unhealthy"}}, "n1", Trust::suspect},
        BookCase{"so_did_the_other", {{0, "n1 n2 unhealthy"}}, "n2", Trust::suspect},
        BookCase{"an_open_run_says_nothing", {{0, "n1 n2 open"}}, "n1", Trust::untested},
        BookCase{"an_undecided_run_blames_nobody", {{0, "n1 n2 undecided"}}, "n1", Trust::untested},
        BookCase{"an_undecided_run_clears_nobody",
                 {{0, "n1 n2 unhealthy"}, {1, "n1 n3 undecided"}},
                 "n1",
                 Trust::suspect},
        BookCase{
            "cleared_by_a_pass", {{0, "n1 n2 unhealthy"}, {1, "n1 n3 healthy"}}, "n1", Trust::good},
        BookCase{"cleared_by_a_pass_with_a_suspect",
                 {{0, "n1 n2 unhealthy"}, {1, "n1 n2 healthy"}},
                 "n2",
                 Trust::good},
        BookCase{"confirmed_in_one_second",
                 {{0, "n1 n2 unhealthy"},
                  {0, "n2 n9 healthy"},
                  {0, "n1 n3 unhealthy"},
                  {0, "n3 n9 healthy"},
                  {0, "n1 n4 unhealthy"},
                  {0, "n4 n9 healthy"}},
                 "n1",
                 Trust::confirmed},
        BookCase{"failed_after_it_had_passed",
                 {{0, "n1 n2 healthy"}, {1, "n1 n3 unhealthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"failed_with_three_that_others_pass_with", kThreePartners, "n1", Trust::confirmed},
        BookCase{"the_partners_of_a_bad_one_are_good", kThreePartners, "n3", Trust::good},
        BookCase{"two_of_three_partners_passed_since",
                 {kThreePartners.begin(), kThreePartners.end() - 1},
                 "n1",
                 Trust::suspect},
        BookCase{"three_times_with_the_same_partner",
                 {{0, "n1 n2 unhealthy"},
                  {1, "n2 n9 healthy"},
                  {2, "n1 n2 unhealthy"},
                  {3, "n2 n9 healthy"},
                  {4, "n1 n2 unhealthy"},
                  {5, "n2 n9 healthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"its_partners_passed_only_before",
                 {{0, "n2 n9 healthy"},
                  {1, "n3 n9 healthy"},
                  {2, "n4 n9 healthy"},
                  {3, "n1 n2 unhealthy"},
                  {4, "n1 n3 unhealthy"},
                  {5, "n1 n4 unhealthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"everybody_failed_until_the_fabric_was_back",
                 {{0, "n1 n2 unhealthy"},
                  {1, "n1 n3 unhealthy"},
                  {2, "n1 n4 unhealthy"},
                  {3, "n2 n9 healthy"},
                  {4, "n3 n9 healthy"},
                  {5, "n4 n9 healthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"and_it_fails_once_more_when_all_others_pass",
                 {{0, "n1 n2 unhealthy"},
                  {1, "n1 n3 unhealthy"},
                  {2, "n1 n4 unhealthy"},
                  {3, "n2 n9 healthy"},
                  {4, "n3 n9 healthy"},
                  {5, "n4 n9 healthy"},
                  {6, "n1 n5 unhealthy"}},
                 "n1",
                 Trust::confirmed},
        BookCase{"a_result_of_the_same_pass_is_no_later_one",
                 {{0, "n1 n2 unhealthy"},
                  {1, "n1 n3 unhealthy"},
                  {2, "n1 n4 unhealthy"},
                  {2, "n2 n9 healthy"},
                  {3, "n3 n9 healthy"},
                  {4, "n4 n9 healthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"everybody_fails",
                 {{0, "n1 n2 unhealthy"},
                  {0, "n3 n4 unhealthy"},
                  {1, "n1 n3 unhealthy"},
                  {1, "n2 n4 unhealthy"},
                  {2, "n1 n4 unhealthy"},
                  {2, "n2 n3 unhealthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"what_fails_with_a_bad_one_is_no_suspect",
                 with(kThreePartners, {{6, "n1 n5 unhealthy"}}), "n5", Trust::untested},
        BookCase{"and_stays_what_it_was", with(kThreePartners, {{6, "n1 n3 unhealthy"}}), "n3",
                 Trust::good},
        BookCase{"a_bad_one_is_cleared_by_a_pass", with(kThreePartners, {{6, "n1 n5 healthy"}}),
                 "n1", Trust::good},
        BookCase{"and_begins_again_then",
                 with(kThreePartners, {{6, "n1 n5 healthy"}, {7, "n1 n6 unhealthy"}}), "n1",
                 Trust::suspect},
        BookCase{"failed_alone_once", {{0, "n1 unhealthy"}}, "n1", Trust::suspect},
        BookCase{"failed_alone_twice_while_another_passed",
                 {{0, "n1 unhealthy"}, {1, "n2 healthy"}, {2, "n1 unhealthy"}},
                 "n1",
                 Trust::confirmed},
        BookCase{"failed_alone_twice_and_nobody_passed",
                 {{0, "n2 healthy"}, {1, "n1 unhealthy"}, {2, "n1 unhealthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"failed_alone_twice_and_then_another_passed",
                 {{0, "n1 unhealthy"}, {1, "n1 unhealthy"}, {2, "n2 healthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"failed_alone_passed_failed",
                 {{0, "n1 unhealthy"}, {1, "n1 healthy"}, {2, "n2 healthy"}, {3, "n1 unhealthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{"a_pair_that_passes_is_no_single_that_passes",
                 {{0, "n1 unhealthy"}, {1, "n1 n2 healthy"}},
                 "n1",
                 Trust::suspect},
        BookCase{
            "a_node_that_is_bad_alone_explains_its_pair",
            {{0, "n1 unhealthy"}, {1, "n2 healthy"}, {2, "n1 unhealthy"}, {3, "n1 n3 unhealthy"}},
            "n3",
            Trust::untested}),
    [](const auto& it) { return std::string(it.param.name); });

TEST(SweepBookTest, AnotherPartitionSaysNothingAboutNodesAlone) {
  auto runs = runs_of({{0, "n1 unhealthy"}, {1, "n2 healthy"}, {2, "n1 unhealthy"}});
  runs[1].partition = "other";
  EXPECT_EQ(SweepBook(runs, kPartners).trust("n1"), Trust::suspect);
}

TEST(SweepBookTest, TheSiteSaysHowManyPartnersConfirm) {
  const std::vector<Past> two(kThreePartners.begin(), kThreePartners.begin() + 4);
  EXPECT_EQ(SweepBook(runs_of(two), 2).trust("n1"), Trust::confirmed);
  EXPECT_EQ(SweepBook(runs_of(kThreePartners), 4).trust("n1"), Trust::suspect);
}

TEST(SweepBookTest, RemembersWhoWasWithWhomAndWhen) {
  const SweepBook book(runs_of({{0, "n1 n2 healthy"}, {1, "n1 n3 undecided"}, {2, "n1 n2 open"}}),
                       kPartners);
  const auto* record = book.record("pair", "n1");
  ASSERT_NE(record, nullptr);
  EXPECT_THAT(record->partners, UnorderedElementsAre(Pair("n2", hour(2)), Pair("n3", hour(1))));
  EXPECT_EQ(record->tried, hour(2));
  EXPECT_EQ(record->swept, hour(0));
  EXPECT_EQ(record->nothing, hour(1));
  EXPECT_EQ(book.record("single", "n1"), nullptr);
  EXPECT_EQ(book.record("pair", "n9"), nullptr);
}

struct TimeCase {
  std::string_view name;
  std::vector<Past> past;    // by when they began
  std::vector<Past> mended;  // by when they ended
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const TimeCase& test, std::ostream* out) { *out << test.name; }

class SweepTimes : public ::testing::TestWithParam<TimeCase> {};

TEST_P(SweepTimes, OfAClockThatRanAheadAreMended) {
  const auto& test = GetParam();
  auto runs = runs_of(test.past);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].id = static_cast<std::int64_t>(i);
  std::ranges::stable_sort(runs, {}, [](const SweepRun& run) {
    return std::pair(run.outcome == SweepOutcome::open, run.ended);
  });
  mend_times(runs, hour(10));
  const auto expected = runs_of(test.mended);
  ASSERT_EQ(runs.size(), expected.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].nodes, expected[i].nodes) << i;
    EXPECT_EQ(runs[i].submitted, expected[i].submitted) << i;
    EXPECT_EQ(runs[i].ended, expected[i].ended) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, SweepTimes,
    ::testing::Values(TimeCase{"none", {}, {}},
                      TimeCase{"right_ones_are_left_alone",
                               {{2, "n1 healthy"}, {1, "n2 healthy"}, {10, "n3 open"}},
                               {{1, "n2 healthy"}, {2, "n1 healthy"}, {10, "n3 open"}}},
                      TimeCase{"wrong_ones_are_those_before",
                               {{1, "n1 healthy"}, {900, "n1 healthy"}, {2, "n1 unhealthy"}},
                               {{1, "n1 healthy"}, {1, "n1 healthy"}, {2, "n1 unhealthy"}}},
                      TimeCase{"open_ones_stay_last",
                               {{1, "n1 healthy"}, {900, "n2 open"}, {3, "n1 healthy"}},
                               {{1, "n1 healthy"}, {3, "n1 healthy"}, {1, "n2 open"}}}),
    [](const auto& it) { return std::string(it.param.name); });

}  // namespace
}  // namespace muster::slurm
