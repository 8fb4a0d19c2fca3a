// SPDX-License-Identifier: Apache-2.0
// An admin accepts the drains of a check that was stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/drains/admin.hpp"
#include "slurm/policy/breaker.hpp"
#include "slurm/policy/own_drain.hpp"
#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kCheck = "gpu.persistence";

class AcceptingTest : public EnforceTest {
 protected:
  AcceptingTest() {
    cluster = FakeCluster(100);
    for (int i = 1; i <= 6; ++i) run(sick(), fmt::format("n{:03}", i));
  }

  std::vector<AdminAnswer> accept(std::string_view check = kCheck) {
    request.now = cluster.now();
    auto answers = accept_drains(request, check, controller, &history_of("login"));
    EXPECT_TRUE(answers);
    return answers.value_or(std::vector<AdminAnswer>());
  }

  AdminRequest request{.user = "alice"};
};

TEST_F(AcceptingTest, TheCheckMayDrainAgainAndThoseStayDrained) {
  ASSERT_EQ(cluster.drained(), 5U);
  ASSERT_THAT(stopped_checks(cluster.nodes(), order.rules), SizeIs(1));
  const auto answers = accept();
  EXPECT_THAT(answers, SizeIs(5));
  EXPECT_THAT(answers, Each(Field(&AdminAnswer::done, true)));
  EXPECT_EQ(cluster.drained(), 5U);
  EXPECT_EQ(cluster.node("n001").reason, kReason);
  EXPECT_THAT(stopped_checks(cluster.nodes(), order.rules), IsEmpty());
  EXPECT_TRUE(run(sick(), "n007").drained);
  EXPECT_THAT(remembered("login"), Each(std::string("accepted")));
}

TEST_F(AcceptingTest, OfTheNodesThatAreNamed) {
  request.nodes = {"n002", "n050"};
  EXPECT_THAT(accept(), SizeIs(1));
  EXPECT_TRUE(shown_drain(cluster.node("n002")).accepted);
  EXPECT_FALSE(shown_drain(cluster.node("n001")).accepted);
}

TEST_F(AcceptingTest, OfNoOtherCheckAndNobodyElsesDrain) {
  EXPECT_THAT(accept("host.limits"), IsEmpty());
  cluster.drain("n001", "disk swap", "bob");
  EXPECT_THAT(accept(), SizeIs(4));
  EXPECT_EQ(cluster.node("n001").reason, "disk swap");
}

TEST_F(AcceptingTest, ATextOfTheSitesIsNotOverwritten) {
  cluster.node("n001").memory = "rack 7";
  const auto answers = accept();
  ASSERT_THAT(answers, SizeIs(5));
  EXPECT_FALSE(answers[0].done);
  EXPECT_THAT(answers[0].what, HasSubstr("rack 7"));
  EXPECT_EQ(cluster.node("n001").memory, "rack 7");
}

TEST_F(AcceptingTest, WhatIsRememberedBesideItStays) {
  auto memory = parse_node_memory(cluster.node("n001").memory).value_or(NodeMemory());
  EXPECT_EQ(memory.check, kCheck);
  memory.clean = 2;
  cluster.node("n001").memory = to_text(memory);
  accept();
  memory.accepted = true;
  EXPECT_EQ(parse_node_memory(cluster.node("n001").memory), memory);
}

TEST_F(AcceptingTest, ADryRunWritesNothing) {
  request.dry_run = true;
  controller.calls.clear();  // the node that was refused has said so
  EXPECT_THAT(accept(), Each(Field(&AdminAnswer::what, "would be accepted")));
  EXPECT_EQ(count("remember"), 0U);
}

}  // namespace
}  // namespace muster::slurm
