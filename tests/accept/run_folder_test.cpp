// SPDX-License-Identifier: Apache-2.0
#include "accept/run_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::accept {
namespace {

class RunFolderTest : public ::testing::Test {
 protected:
  [[nodiscard]] RunFolder create(const WriteHook& hook = {}) const {
    auto folder =
        RunFolder::create(path(), make_order(Plan{}, {{.name = "n1"}, {.name = "n2"}}), hook);
    EXPECT_TRUE(folder) << (folder ? "" : folder.error().message);
    return *std::move(folder);
  }

  [[nodiscard]] RunFolder open(RunFolder::Use use = RunFolder::Use::drive) const {
    auto folder = RunFolder::open(path(), use);
    EXPECT_TRUE(folder) << (folder ? "" : folder.error().message);
    return *std::move(folder);
  }

  [[nodiscard]] std::filesystem::path path() const { return temp_.path() / "run"; }

  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(path() / name);
  }

  static Attempt passed(std::int64_t number = 1) {
    return {.node = "n2",
            .stage = Stage::check,
            .number = number,
            .end = AttemptEnd::pass,
            .started = 100,
            .ended = 110};
  }

  TempDir temp_;
};

constexpr NodeStart kStart{.node = 1, .stage = Stage::check, .number = 1};

TEST_F(RunFolderTest, KeepsOrderAttemptsAndDecisions) {
  const StepAnswer answer{.host = "n2.local", .muster = "1", .parts = {{.serial = "S1"}}};
  const GroupAttempt group{.stage = Stage::fabric, .number = 1, .nodes = {"n1", "n2"}};
  const Decision decision{
      .kind = DecisionKind::withdraw, .nodes = {"n1"}, .why = "sold", .at = 200};
  Order order;
  {
    auto folder = create();
    order = folder.order();
    ASSERT_TRUE(folder.begin(kStart, 100));
    ASSERT_TRUE(folder.end(passed(), answer));
    ASSERT_TRUE(folder.end(group, std::nullopt));
    ASSERT_TRUE(folder.decide(decision));
  }
  const auto folder = open();
  EXPECT_EQ(folder.order(), order);
  EXPECT_THAT(folder.results().attempts, ElementsAre(passed()));
  EXPECT_THAT(folder.results().groups, ElementsAre(group));
  EXPECT_THAT(folder.results().decisions, ElementsAre(decision));
  EXPECT_EQ(*folder.answer(passed()), answer);
  EXPECT_EQ(*folder.answer(group), std::nullopt);
  EXPECT_FALSE(has("nodes/n2/check.1.started"));
}

TEST_F(RunFolderTest, InterruptsAttemptsOfAnEarlierDriver) {
  {
    auto folder = create();
    ASSERT_TRUE(folder.begin(kStart, 100));
    ASSERT_TRUE(folder.begin(GroupStart{.stage = Stage::whole, .number = 2, .nodes = {0, 1}}, 7));
    const auto reading = open(RunFolder::Use::read);
    ASSERT_THAT(reading.results().attempts, SizeIs(1));
    EXPECT_EQ(reading.results().attempts[0].end, AttemptEnd::running);
  }
  EXPECT_EQ(open(RunFolder::Use::read).results().attempts.at(0).end, AttemptEnd::interrupted);
  EXPECT_TRUE(has("nodes/n2/check.1.started"));
  const auto folder = open();
  ASSERT_THAT(folder.results().attempts, SizeIs(1));
  EXPECT_EQ(folder.results().attempts[0].end, AttemptEnd::interrupted);
  EXPECT_EQ(folder.results().attempts[0].started, 100);
  ASSERT_THAT(folder.results().groups, SizeIs(1));
  EXPECT_THAT(folder.results().groups[0].nodes, ElementsAre("n1", "n2"));
  EXPECT_TRUE(has("nodes/n2/check.1.json"));
  EXPECT_FALSE(has("nodes/n2/check.1.started"));
}

// A simulated fleet's clock is ahead, and a driver's may be behind.
TEST_F(RunFolderTest, ADecisionIsLaterThanAllAttemptsAndEarlierThanTheNext) {
  auto folder = create();
  ASSERT_TRUE(folder.end(passed(), std::nullopt));
  ASSERT_TRUE(folder.decide({.nodes = {"n2"}, .at = 50}));
  ASSERT_TRUE(folder.decide({.nodes = {"n2"}, .at = 50}));
  EXPECT_EQ(folder.results().decisions.at(0).at, 111);
  EXPECT_EQ(folder.results().decisions.at(1).at, 112);
  ASSERT_TRUE(folder.begin({.node = 1, .stage = Stage::check, .number = 2}, 60));
  EXPECT_EQ(folder.results().attempts.at(1).started, 113);
  EXPECT_EQ(folder.latest(), 113);
}

TEST_F(RunFolderTest, SetsADamagedResultAside) {
  {
    auto folder = create();
    ASSERT_TRUE(folder.end(passed(), std::nullopt));
  }
  const auto file = path() / "nodes/n2/check.1.json";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const auto reading = open(RunFolder::Use::read);
  EXPECT_EQ(reading.answer(reading.results().attempts.at(0)).value(), std::nullopt);
  const auto folder = open();
  ASSERT_THAT(folder.results().attempts, SizeIs(1));
  EXPECT_EQ(folder.results().attempts[0].end, AttemptEnd::interrupted);
  EXPECT_THAT(folder.results().attempts[0].why, HasSubstr("check.1.json.bad"));
  EXPECT_TRUE(has("nodes/n2/check.1.json.bad"));
  EXPECT_THAT(open(RunFolder::Use::read).results().attempts, SizeIs(1));
}

TEST_F(RunFolderTest, AnAnswerThatDiffersFromItsSumIsDamaged) {
  {
    auto folder = create();
    ASSERT_TRUE(folder.end(passed(), StepAnswer{.host = "n2.local", .muster = "1"}));
  }
  EXPECT_EQ(open().results().attempts.at(0).end, AttemptEnd::pass);
  auto changed = temp_.read("run/nodes/n2/check.1.json");
  changed.replace(changed.find("n2.local"), 2, "n3");
  temp_.write("run/nodes/n2/check.1.json", changed);
  EXPECT_EQ(open().results().attempts.at(0).end, AttemptEnd::interrupted);
  EXPECT_TRUE(has("nodes/n2/check.1.json.bad"));
}

TEST_F(RunFolderTest, ResultUnderAnotherNameIsDamaged) {
  {
    auto folder = create();
    ASSERT_TRUE(folder.end(passed(), std::nullopt));
  }
  std::filesystem::copy(path() / "nodes/n2/check.1.json", path() / "nodes/n2/check.2.json");
  EXPECT_EQ(open().results().attempts.at(1).end, AttemptEnd::interrupted);
}

TEST_F(RunFolderTest, HasOneDriver) {
  const auto first = create();
  const auto second = RunFolder::open(path(), RunFolder::Use::drive);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().status, kExitUndecided);
  EXPECT_THAT(second.error().message, HasSubstr("is being driven by"));
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));
  EXPECT_TRUE(RunFolder::open(path(), RunFolder::Use::read));
}

TEST_F(RunFolderTest, RefusesAFolderThatIsNotARun) {
  temp_.write("run/notes.txt", "mine");
  const auto made = RunFolder::create(path(), make_order(Plan{}, {{.name = "n1"}}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().status, kExitConfiguration);
  const auto opened = RunFolder::open(path(), RunFolder::Use::drive);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().status, kExitConfiguration);
  EXPECT_THAT(opened.error().message, HasSubstr("has no run.json"));
}

TEST_F(RunFolderTest, FailedWriteLeavesTheAttemptRunning) {
  bool full = false;
  auto folder = create([&](const std::filesystem::path& /*file*/, bool written) -> Result<void> {
    if (full && !written) return make_error("write run.json: No space left on device");
    return {};
  });
  ASSERT_TRUE(folder.begin(kStart, 100));
  full = true;
  EXPECT_FALSE(folder.end(passed(), std::nullopt));
  EXPECT_EQ(folder.results().attempts.at(0).end, AttemptEnd::running);
}

TEST_F(RunFolderTest, WritesAJournalForPeople) {
  auto folder = create();
  ASSERT_TRUE(folder.begin(kStart, 100));
  ASSERT_TRUE(folder.end(passed(), std::nullopt));
  std::ifstream journal(path() / "journal.jsonl");
  std::string first;
  std::string second;
  std::getline(journal, first);
  std::getline(journal, second);
  EXPECT_THAT(first, HasSubstr("\"file\":\"nodes/n2/check.1\",\"end\":\"running\""));
  EXPECT_THAT(second, HasSubstr("\"end\":\"pass\",\"sha256\":\""));
}

}  // namespace
}  // namespace muster::accept
