// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/history.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.hpp"

namespace muster::slurm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Time kStart{1'800'000'000s};

Event event_of(std::string node, std::string kind, Time at) {
  return {.at = at, .node = std::move(node), .kind = std::move(kind), .context = "periodic"};
}

class HistoryTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path file() const { return dir.path() / "lib/muster/events.jsonl"; }

  [[nodiscard]] History open() const {
    auto opened = History::open(file());
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }

  static std::vector<Event> events(const History& history, const EventFilter& filter = {}) {
    auto found = history.events(filter);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::vector<Event>());
  }

  static std::vector<std::string> kinds(const History& history, const EventFilter& filter = {}) {
    std::vector<std::string> kinds;
    for (const auto& event : events(history, filter)) kinds.push_back(event.kind);
    return kinds;
  }

  TempDir dir;
};

TEST_F(HistoryTest, KeepsEveryTextOfAnEvent) {
  const Event event{.at = kStart,
                    .node = "n1",
                    .kind = "drained",
                    .context = "prolog",
                    .job = "4711",
                    .check = "gpu.present",
                    .device = "gpu3",
                    .message = "it's \"gone\"; ü\n$(x)",
                    .reason = "muster: gpu.present gpu3: it is gone; reboot the node",
                    .boot_id = "boot-1"};
  ASSERT_TRUE(open().add(event));
  auto found = events(open());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, 1);
  found[0].id = 0;
  EXPECT_EQ(found[0], event);
}

TEST_F(HistoryTest, SelectsEvents) {
  auto history = open();
  ASSERT_TRUE(
      history.add({event_of("n1", "drained", kStart), event_of("n2", "kept", kStart + 1s)}));
  ASSERT_TRUE(history.add(event_of("n1", "kept", kStart + 2s)));
  ASSERT_TRUE(history.add(event_of("n1", "resumed", kStart + 3s)));
  EXPECT_THAT(kinds(history), ElementsAre("drained", "kept", "kept", "resumed"));
  EXPECT_THAT(kinds(history, {.nodes = {"n1", "n9"}}), ElementsAre("drained", "kept", "resumed"));
  EXPECT_THAT(kinds(history, {.kinds = {"kept"}}), ElementsAre("kept", "kept"));
  EXPECT_THAT(kinds(history, {.since = kStart + 2s}), ElementsAre("kept", "resumed"));
  EXPECT_THAT(kinds(history, {.after_id = 3}), ElementsAre("resumed"));
  EXPECT_THAT(kinds(history, {.nodes = {"n1"}, .most = 2}), ElementsAre("kept", "resumed"));
  EXPECT_THAT(kinds(history, {.nodes = {"n9"}}), IsEmpty());
}

TEST_F(HistoryTest, AMissingFileIsMissingUntilItIsOpenedForWriting) {
  ASSERT_FALSE(History::read(file()));
  EXPECT_TRUE(History::read(file()).error().missing);
  EXPECT_THAT(events(open()), IsEmpty());
  EXPECT_TRUE(History::read(file()));
  struct stat status = {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(file().parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);
}

TEST_F(HistoryTest, IsNotOpenedIfOthersCouldHaveCreatedIt) {
  const auto folder = file().parent_path();
  dir.write("theirs", "");
  dir.link("lib/muster/events.jsonl", dir.path("theirs"));
  EXPECT_THAT(History::open(file()).error().message, HasSubstr("is a link: remove it"));
  dir.remove("lib/muster/events.jsonl");
  fs::permissions(folder, fs::perms(0777));
  EXPECT_THAT(History::open(file()).error().message, HasSubstr("is writable by others"));
  fs::permissions(folder, fs::perms(0755));
  EXPECT_TRUE(History::open(file()));
  if (::geteuid() != 0) return;  // only root gives files away
  ASSERT_EQ(::chown(file().c_str(), 4'000'000, 4'000'000), 0);
  EXPECT_THAT(History::open(file()).error().message,
              HasSubstr("events.jsonl belongs to user 4000000"));
}

// As if a process was killed in the middle of a line, or the disk was full.
TEST_F(HistoryTest, ADamagedLineLosesNoOther) {
  auto history = open();
  ASSERT_TRUE(history.add(event_of("n1", "drained", kStart)));
  std::ofstream(file(), std::ios::app) << R"({"schema":"muster.event/1","id":2,"at)";
  ASSERT_TRUE(history.add(event_of("n1", "resumed", kStart)));
  EXPECT_THAT(kinds(history), ElementsAre("drained", "resumed"));
  EXPECT_EQ(events(history).back().id, 2);
  std::ofstream(file()) << "no JSON at all\n\n[]\n{}\n";
  EXPECT_THAT(kinds(history), IsEmpty());
  ASSERT_TRUE(history.add(event_of("n1", "kept", kStart)));
  EXPECT_THAT(kinds(history), ElementsAre("kept"));
}

TEST_F(HistoryTest, LongLinesMaySpanBlocksOfTheFile) {
  auto history = open();
  for (int i = 0; i < 50; ++i) {
    auto event = event_of("n1", fmt::format("kind{}", i), kStart);
    event.message.assign(static_cast<std::size_t>(i) * 400, 'x');
    ASSERT_TRUE(history.add(event));
  }
  const auto all = events(history);
  ASSERT_EQ(all.size(), 50U);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(all[i].message.size(), i * 400);
}

TEST_F(HistoryTest, ALargeFileIsReplacedAndItsEventsStay) {
  auto history = open();
  ASSERT_TRUE(history.add(event_of("n1", "drained", kStart)));
  const auto line = fmt::format("{}\n", std::string(100'000, 'x'));
  for (std::size_t size = 0; size <= History::kLargestFile; size += line.size()) {
    std::ofstream(file(), std::ios::app) << line;
  }
  ASSERT_TRUE(history.add(event_of("n1", "resumed", kStart)));
  EXPECT_LT(fs::file_size(file()), 1000U);
  EXPECT_THAT(kinds(history), ElementsAre("drained", "resumed"));
  EXPECT_EQ(events(history).back().id, 2);
}

TEST_F(HistoryTest, ProcessesThatAddAtOnceLoseNothing) {
  constexpr int kProcesses = 8;
  constexpr int kEvents = 25;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto history = History::open(file());
      bool ok = history.has_value();
      for (int i = 0; ok && i < kEvents; ++i) {
        ok = history->add(event_of(fmt::format("n{}", process), "kept", kStart)).has_value();
      }
      ::_exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto all = events(open());
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kProcesses * kEvents));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].id, static_cast<int>(i) + 1);
}

TEST_F(HistoryTest, AFullDiskIsAnError) {
  auto history = open();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto added = history.add(event_of("n1", "kept", kStart));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  static_cast<void>(std::signal(SIGXFSZ, handler));
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr("events.jsonl"));
}

}  // namespace
}  // namespace muster::slurm
