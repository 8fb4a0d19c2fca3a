// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/history.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>

#include "slurm/history/sqlite.hpp"
#include "tests/slurm/history/history_fixture.hpp"

namespace muster::slurm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// SQLite would follow a link, and what stands there would be believed.
TEST_F(HistoryTest, IsNotOpenedWhereSomebodyElseCouldHaveMadeIt) {
  const auto folder = file().parent_path();
  dir.write("theirs", "");
  for (const std::string_view suffix : {"", "-journal", "-wal", "-shm"}) {
    const auto name = fmt::format("lib/muster/history.db{}", suffix);
    dir.link(name, (dir.path() / "theirs").string());
    EXPECT_THAT(History::open(file()).error().message, HasSubstr("is a link: remove it")) << suffix;
    dir.remove(name);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path() / "theirs"));
  std::filesystem::permissions(folder, std::filesystem::perms(0777));
  EXPECT_THAT(History::open(file()).error().message, HasSubstr("may be written by others"));
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
  EXPECT_TRUE(History::open(file()));
  if (::geteuid() != 0) return;  // only root gives files away
  ASSERT_EQ(::chown(file().c_str(), 4'000'000, 4'000'000), 0);
  EXPECT_THAT(History::open(file()).error().message,
              HasSubstr("history.db belongs to user 4000000"));
}

TEST_F(HistoryTest, RemembersAnEventWordForWord) {
  const Event event{.at = kStart,
                    .node = "n1",
                    .kind = "drained",
                    .context = "prolog",
                    .job = "4711",
                    .check = "gpu.present",
                    .device = "gpu3",
                    .message = "it's \"gone\"; DROP TABLE events; -- ü\n$(x)",
                    .reason = "muster: gpu.present gpu3: it is gone; reboot the node",
                    .boot_id = "boot-1"};
  ASSERT_TRUE(open().add(event));
  auto found = events(open());
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].id, 1);
  found[0].id = 0;
  EXPECT_EQ(found[0], event);
}

TEST_F(HistoryTest, SelectsEvents) {
  auto history = open();
  ASSERT_TRUE(history.add(event_of("n1", "drained", kStart)));
  ASSERT_TRUE(history.add(event_of("n2", "kept", kStart + 1s)));
  ASSERT_TRUE(history.add(event_of("n1", "kept", kStart + 2s)));
  ASSERT_TRUE(history.add(event_of("n1", "resumed", kStart + 3s)));
  EXPECT_THAT(kinds(events(history)), ElementsAre("drained", "kept", "kept", "resumed"));
  EXPECT_THAT(kinds(events(history, {.nodes = {"n1", "n9"}})),
              ElementsAre("drained", "kept", "resumed"));
  EXPECT_THAT(kinds(events(history, {.kinds = {"kept"}})), ElementsAre("kept", "kept"));
  EXPECT_THAT(kinds(events(history, {.since = kStart + 2s})), ElementsAre("kept", "resumed"));
  EXPECT_THAT(kinds(events(history, {.after_id = 3})), ElementsAre("resumed"));
  EXPECT_THAT(kinds(events(history, {.nodes = {"n1"}, .most = 2})), ElementsAre("kept", "resumed"));
  EXPECT_THAT(events(history, {.nodes = {"' OR 1=1 --"}}), IsEmpty());
}

TEST_F(HistoryTest, KeepsADrainUntilItEnds) {
  auto history = open();
  EXPECT_EQ(*history.drain_of("n1"), std::nullopt);
  ASSERT_TRUE(history.begin_drain("n1", drain_at(kStart)));
  auto expected = drain_at(kStart);
  EXPECT_EQ(*open().drain_of("n1"), expected);
  EXPECT_EQ(*history.drain_of("n2"), std::nullopt);
  ASSERT_TRUE(history.confirm_drain("n1", (*history.drain_of("n1")).value()));
  expected.confirmed = true;
  EXPECT_EQ(*open().drain_of("n1"), expected);
  ASSERT_TRUE(history.end_drain("n1", drain_at(kStart), kStart + 9s));
  EXPECT_EQ(*history.drain_of("n1"), std::nullopt);
}

TEST_F(HistoryTest, CountsCleanRunsAndTheBootsSince) {
  auto history = open();
  ASSERT_TRUE(
      history.note_run("n1", drain_at(kStart), true, "boot-1"));  // no drain: nothing to note
  ASSERT_TRUE(history.begin_drain("n1", drain_at(kStart)));
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), true, "boot-1"));
  EXPECT_THAT((*history.drain_of("n1"))->boots_since, IsEmpty());
  EXPECT_EQ((*history.drain_of("n1"))->clean_runs, 1);
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), true, "boot-2"));
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), true, "boot-2"));
  EXPECT_EQ((*history.drain_of("n1"))->clean_runs, 3);
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), false, ""));
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), false, "boot-3"));
  EXPECT_THAT((*history.drain_of("n1"))->boots_since, ElementsAre("boot-2", "boot-3"));
  EXPECT_EQ((*history.drain_of("n1"))->clean_runs, 0);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(history.note_run("n1", drain_at(kStart), false, fmt::format("b{}", i)));
  EXPECT_EQ((*history.drain_of("n1"))->boots_since.size(), 16);
  EXPECT_EQ((*history.drain_of("n1"))->boots_since.back(), "b99");
}

TEST_F(HistoryTest, EarlierDrainsCountUntilAnAdminResumes) {
  auto history = open();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(history.begin_drain("n1", drain_at(kStart + i * 100s)));
    ASSERT_TRUE(history.confirm_drain("n1", (*history.drain_of("n1")).value()));
    EXPECT_EQ(history.drains_of("n1")->size(), i + 1);  // with the one that has not ended
    ASSERT_TRUE(history.end_drain("n1", drain_at(kStart + i * 100s), kStart + i * 100s + 9s));
  }
  EXPECT_THAT(*history.drains_of("n1"), ElementsAre(kStart, kStart + 100s));
  EXPECT_THAT(*history.drains_of("n2"), IsEmpty());
  ASSERT_TRUE(history.forget_flaps("n1"));
  EXPECT_THAT(*history.drains_of("n1"), IsEmpty());
}

TEST_F(HistoryTest, ADrainThatWasTakenBackDoesNotCount) {
  auto history = open();
  ASSERT_TRUE(history.begin_drain("n1", drain_at(kStart)));
  ASSERT_TRUE(history.cancel_drain("n1", drain_at(kStart), kStart + 1s));
  EXPECT_EQ(*history.drain_of("n1"), std::nullopt);
  EXPECT_THAT(*history.drains_of("n1"), IsEmpty());
}

TEST_F(HistoryTest, ANewDrainReplacesOneThatWasNeverSeen) {
  auto history = open();
  ASSERT_TRUE(*history.begin_drain("n1", drain_at(kStart)));
  ASSERT_TRUE(*history.begin_drain("n1", drain_at(kStart + 300s), drain_at(kStart)));
  EXPECT_EQ((*history.drain_of("n1"))->at, kStart + 300s);
  EXPECT_THAT(*history.drains_of("n1"), ElementsAre(kStart + 300s));
  ASSERT_TRUE(history.confirm_drain("n1", (*history.drain_of("n1")).value()));
  ASSERT_TRUE(*history.begin_drain("n1", drain_at(kStart + 600s), history.drain_of("n1").value()));
  EXPECT_THAT(*history.drains_of("n1"), ElementsAre(kStart + 300s, kStart + 600s));
}

// Another process ended the one and began the other.
TEST_F(HistoryTest, WhatIsSaidOfOneDrainChangesNoOther) {
  auto history = open();
  const auto earlier = drain_at(kStart);
  auto other = drain_at(kStart);
  other.reason = "muster: other.check: x";
  const auto standing = drain_at(kStart + 1s);
  ASSERT_TRUE(history.begin_drain("n1", standing));
  for (const auto& named : {earlier, other}) {
    ASSERT_TRUE(history.confirm_drain("n1", named));
    ASSERT_TRUE(history.note_run("n1", named, true, "boot-9"));
    ASSERT_TRUE(history.worsen_drain("n1", named, other));
    ASSERT_TRUE(history.end_drain("n1", named, kStart + 2s));
    ASSERT_TRUE(history.cancel_drain("n1", named, kStart + 2s));
    EXPECT_FALSE(*history.begin_resume("n1", named));
  }
  EXPECT_EQ(*history.drain_of("n1"), standing);
}

TEST_F(HistoryTest, ADrainThatAnotherProcessBeganIsNotReplaced) {
  auto history = open();
  auto other = open();
  ASSERT_TRUE(*other.begin_drain("n1", drain_at(kStart)));
  EXPECT_FALSE(*history.begin_drain("n1", drain_at(kStart + 1s)));
  EXPECT_FALSE(*history.begin_drain("n1", drain_at(kStart + 1s), drain_at(kStart - 1s)));
  EXPECT_EQ(*history.drain_of("n1"), drain_at(kStart));
  EXPECT_FALSE(*history.begin_drain("n2", drain_at(kStart + 1s), drain_at(kStart)));
  EXPECT_EQ(*history.drain_of("n2"), std::nullopt);
}

TEST_F(HistoryTest, TheFileIsItsOwnersAlone) {
  const auto mask = ::umask(077);
  static_cast<void>(open());
  ::umask(0);
  ASSERT_TRUE(open().add(event_of("n1", "drained")));
  ::umask(mask);
  EXPECT_EQ(mode(file()), 0600U);
  EXPECT_EQ(mode(file().parent_path()), 0755U);
  EXPECT_EQ(mode(dir.path() / "lib"), 0755U);
}

TEST_F(HistoryTest, TwoProcessesWriteAtOnce) {
  constexpr int kEach = 100;
  std::array<pid_t, 2> children{};
  for (std::size_t i = 0; i < children.size(); ++i) {
    children[i] = ::fork();
    if (children[i] != 0) continue;
    auto history = History::open(file());
    for (int n = 0; n < kEach; ++n) {
      if (!history || !history->add(event_of(fmt::format("n{}", i), "kept"))) ::_exit(1);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto history = open();
  EXPECT_EQ(events(history).size(), 2 * kEach);
  EXPECT_EQ(events(history, {.nodes = {"n0"}}).size(), kEach);
}

// A clock that runs ahead once.
TEST_F(HistoryTest, NothingGoesForItsTime) {
  auto history = open();
  ASSERT_TRUE(history.begin_drain("n1", drain_at(kStart)));
  ASSERT_TRUE(history.end_drain("n1", (*history.drain_of("n1")).value(), kStart + 60s));
  ASSERT_TRUE(history.add(event_of("n1", "early")));
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(history.add(event_of("n1", "ahead", kStart + 5000 * 24h)));
  }
  ASSERT_TRUE(history.add(event_of("n1", "late", kStart + 60s)));
  EXPECT_EQ(events(history).size(), 302);
  EXPECT_EQ(events(history, {.kinds = {"early"}}).size(), 1);
  EXPECT_THAT(*history.drains_of("n1"), ElementsAre(kStart));
}

TEST_F(HistoryTest, TooManyDrainsGo) {
  auto history = open();
  for (const auto* node : {"n1", "n2"}) ASSERT_TRUE(history.begin_drain(node, drain_at(kStart)));
  ASSERT_TRUE(history.end_drain("n1", (*history.drain_of("n1")).value(), kStart + 60s));
  auto connection = Connection::open(file(), Connection::Access::write);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->run("UPDATE sqlite_sequence SET seq = 100001 WHERE name = 'drains'"));
  ASSERT_TRUE(history.begin_drain("n3", drain_at(kStart)));
  for (int i = 0; i < 256; ++i) ASSERT_TRUE(history.add(event_of("n1", "late")));
  EXPECT_THAT(*history.drains_of("n1"), IsEmpty());
  EXPECT_EQ(*history.drain_of("n2"), drain_at(kStart));  // it has not ended
}

TEST_F(HistoryTest, TooManyEventsGo) {
  auto history = open();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(history.add(event_of("n1", "early")));
  auto connection = Connection::open(file(), Connection::Access::write);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->run("UPDATE sqlite_sequence SET seq = 100099"));
  for (int i = 0; i < 256; ++i) ASSERT_TRUE(history.add(event_of("n1", "late")));
  EXPECT_THAT(events(history, {.kinds = {"early"}}), IsEmpty());
  EXPECT_EQ(events(history, {.kinds = {"late"}}).size(), 256);
}

TEST_F(HistoryTest, RemembersRunsOfSweepsInTheOrderOfTheirEnds) {
  auto history = open();
  std::vector<SweepRun> runs;
  for (const auto* node : {"n1", "n2", "n3"}) {
    auto& run = runs.emplace_back(sweep_of(node));
    const auto id = history.begin_sweep(run);
    ASSERT_TRUE(id) << id.error().message;
    run.id = *id;
  }
  EXPECT_EQ(*open().sweeps(), runs);
  ASSERT_TRUE(history.note_sweep_job(runs[1].id, "4712"));
  runs[1].job = "4712";
  for (auto* run : {&runs[2], &runs[0]}) {
    run->ended = run == &runs[2] ? kStart + 60s : kStart + 90s;
    run->outcome = run == &runs[2] ? SweepOutcome::unhealthy : SweepOutcome::undecided;
    ASSERT_TRUE(history.end_sweep(*run, {event_of(run->nodes.front(), "sweep")}));
  }
  EXPECT_THAT(*open().sweeps(), ElementsAre(runs[2], runs[0], runs[1]));
  EXPECT_THAT(kinds(events(history)), ElementsAre("sweep", "sweep"));
}

TEST_F(HistoryTest, TooManyRunsOfSweepsGo) {
  auto history = open();
  auto ahead = sweep_of("n1");
  ahead.submitted = kStart + 5000 * 24h;
  ASSERT_TRUE(history.begin_sweep(ahead));
  ASSERT_TRUE(history.begin_sweep(sweep_of("n2")));
  EXPECT_EQ(history.sweeps()->size(), 2);
  auto connection = Connection::open(file(), Connection::Access::write);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->run("UPDATE sqlite_sequence SET seq = 100001 WHERE name = 'sweeps'"));
  ASSERT_TRUE(history.begin_sweep(sweep_of("n3")));
  ASSERT_TRUE(history.begin_sweep(sweep_of("n4")));
  EXPECT_EQ(history.sweeps()->size(), 2);
}

TEST_F(HistoryTest, RemembersTheLastBoot) {
  auto history = open();
  EXPECT_EQ(*history.boot_of("n1"), "");
  ASSERT_TRUE(history.note_boot("n1", "boot-1"));
  ASSERT_TRUE(history.note_boot("n1", "boot-2"));
  EXPECT_EQ(*open().boot_of("n1"), "boot-2");
  EXPECT_EQ(*history.boot_of("n2"), "");
}

TEST_F(HistoryTest, AResumeIsBegunOnlyForTheDrainThatWasJudged) {
  auto history = open();
  EXPECT_FALSE(*history.begin_resume("n1", drain_at(kStart)));
  ASSERT_TRUE(history.begin_drain("n1", drain_at(kStart)));
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), true, "boot-1"));
  const auto judged = (*history.drain_of("n1")).value();
  EXPECT_FALSE(*history.begin_resume("n1", drain_at(kStart + 1s)));
  auto milder = judged;
  milder.remedy = Remedy::restart_service;
  EXPECT_FALSE(*history.begin_resume("n1", milder));
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), false, "boot-1"));
  EXPECT_FALSE(*history.begin_resume("n1", judged));
  EXPECT_FALSE((*history.drain_of("n1"))->resuming);
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), true, "boot-1"));
  EXPECT_TRUE(*history.begin_resume("n1", judged));
  EXPECT_TRUE((*history.drain_of("n1"))->resuming);
}

TEST_F(HistoryTest, AResumeThatIsNotInForceIsForgotten) {
  auto history = open();
  const auto resuming = [&] { return (*history.drain_of("n1"))->resuming; };
  ASSERT_TRUE(history.begin_drain("n1", drain_at(kStart)));
  ASSERT_TRUE(*history.begin_resume("n1", drain_at(kStart)));
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), true, "boot-1"));
  EXPECT_TRUE(resuming());
  ASSERT_TRUE(history.note_run("n1", drain_at(kStart), false, "boot-1"));
  EXPECT_FALSE(resuming());
  ASSERT_TRUE(*history.begin_resume("n1", drain_at(kStart)));
  ASSERT_TRUE(history.cancel_resume("n2", drain_at(kStart)));
  EXPECT_TRUE(resuming());
  ASSERT_TRUE(history.cancel_resume("n1", drain_at(kStart)));
  EXPECT_FALSE(resuming());
}

TEST_F(HistoryTest, ReadsWithoutWriting) {
  EXPECT_TRUE(History::read(file()).error().missing);
  EXPECT_FALSE(std::filesystem::exists(file()));
  auto writer = open();
  ASSERT_TRUE(writer.add(event_of("n1", "drained")));
  auto reader = History::read(file());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(events(*reader).size(), 1);
  ASSERT_TRUE(writer.add(event_of("n1", "resumed")));  // a reader sees what comes later
  EXPECT_EQ(events(*reader).size(), 2);
  EXPECT_THAT(reader->add(event_of("n1", "kept")).error().message,
              StartsWith(fmt::format("{}: ", file().string())));
}

// SQLite makes two files beside one that is read, and leaves them there.
TEST_F(HistoryTest, PeeksWithoutWritingAnythingAnywhere) {
  const auto folder = dir.path() / "odd?name#100%";
  const auto odd = folder / "history.db";
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path())) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  };
  EXPECT_TRUE(History::peek(odd).error().missing);
  EXPECT_THAT(files(), IsEmpty());
  ASSERT_TRUE(History::open(odd)->add(event_of("n1", "drained")));
  ASSERT_THAT(files(), ElementsAre("history.db", "odd?name#100%"));
  {
    auto still = History::peek(odd);
    ASSERT_TRUE(still) << still.error().message;
    EXPECT_EQ(events(*still).size(), 1);
    EXPECT_FALSE(still->add(event_of("n1", "kept")));
  }
  EXPECT_THAT(files(), ElementsAre("history.db", "odd?name#100%"));
  // What another process has written and not yet put into the file is seen, too.
  auto writer = History::open(odd);
  ASSERT_TRUE(writer->add(event_of("n1", "resumed")));
  const auto during = files();
  EXPECT_EQ(events(*History::peek(odd)).size(), 2);
  EXPECT_EQ(files(), during);
}

TEST_F(HistoryTest, ErrorsNameTheFile) {
  EXPECT_EQ(History::open("/dev/null").error().message, "open /dev/null: no regular file");
  dir.write("plain", "");
  const auto below = dir.path() / "plain/history.db";
  EXPECT_THAT(History::open(below).error().message, HasSubstr(below.string()));
  EXPECT_THAT(History::read(below).error().message, HasSubstr(below.string()));
}

}  // namespace
}  // namespace muster::slurm
