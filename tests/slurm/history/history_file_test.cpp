// SPDX-License-Identifier: Apache-2.0
// What becomes of a history's file that is damaged, foreign or of another version.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "slurm/history/sqlite.hpp"
#include "tests/slurm/history/history_fixture.hpp"

namespace muster::slurm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(HistoryTest, WhatIsNoDatabaseIsPutAside) {
  for (const auto& content : {std::string(600, 'x'), std::string(5000, 'x')}) {
    dir.write("lib/muster/history.db", content);
    auto history = open();
    EXPECT_EQ(history.note(),
              fmt::format("{0} was damaged; it is {0}.corrupt now, and a new one was begun",
                          file().string()));
    ASSERT_TRUE(history.add(event_of("n1", "drained")));
    std::ifstream aside(fmt::format("{}.corrupt", file().string()));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(aside), {}), content);
    EXPECT_EQ(open().note(), "");
    EXPECT_EQ(events(open()).size(), 1);
  }
}

TEST_F(HistoryTest, ADamagedDatabaseIsPutAside) {
  for (const bool shorten : {false, true}) {
    {
      auto history = open();
      for (int i = 0; i < 200; ++i) {
        auto event = event_of("n1", "drained");
        event.message = std::string(200, 'm');
        ASSERT_TRUE(history.add(event));
      }
    }
    if (shorten) {
      std::filesystem::resize_file(file(), std::filesystem::file_size(file()) / 2);
    } else {
      std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
      stream.seekp(4096);
      for (int i = 0; i < 20'000; ++i) stream.put('\x5a');
    }
    auto history = open();
    EXPECT_THAT(history.note(), HasSubstr("was damaged"));
    EXPECT_THAT(events(history), IsEmpty());
    EXPECT_TRUE(history.add(event_of("n1", "drained")));
  }
}

TEST_F(HistoryTest, AnEmptyFileIsBegun) {
  dir.write("lib/muster/history.db", "");
  auto history = open();
  EXPECT_EQ(history.note(), "");
  EXPECT_TRUE(history.add(event_of("n1", "drained")));
}

TEST_F(HistoryTest, ANewerOrForeignDatabaseIsLeftAlone) {
  static_cast<void>(open());
  const auto change = [&](const char* sql) {
    auto connection = Connection::open(file(), Connection::Access::write);
    ASSERT_TRUE(connection && connection->run(sql)) << sql;
  };
  change("PRAGMA user_version = 4");
  const auto newer =
      fmt::format("{}: written by another muster (schema 4, this one has 3)", file().string());
  EXPECT_EQ(History::open(file()).error().message, newer);
  EXPECT_EQ(History::read(file()).error().message, newer);
  change("PRAGMA application_id = 1");
  EXPECT_EQ(History::open(file()).error().message,
            fmt::format("{}: the database of another program", file().string()));
  EXPECT_FALSE(std::filesystem::exists(fmt::format("{}.corrupt", file().string())));
}

TEST_F(HistoryTest, AnOlderDatabaseIsCarriedOver) {
  {
    auto history = open();
    ASSERT_TRUE(history.begin_drain("n1", drain_at(kStart)));
    ASSERT_TRUE(history.add(event_of("n1", "drained")));
    auto connection = Connection::open(file(), Connection::Access::write);
    for (const auto* sql : {"ALTER TABLE drains DROP COLUMN resuming", "DROP TABLE boots",
                            "DROP TABLE sweeps", "PRAGMA user_version = 1"}) {
      ASSERT_TRUE(connection && connection->run(sql)) << sql;
    }
  }
  EXPECT_EQ(events(*History::read(file())).size(), 1);
  EXPECT_THAT(*History::read(file())->sweeps(), IsEmpty());
  auto history = open();
  EXPECT_EQ(*history.drain_of("n1"), drain_at(kStart));
  EXPECT_EQ(*history.boot_of("n1"), "");
  EXPECT_TRUE(history.begin_sweep(sweep_of("n1")));
  ASSERT_TRUE(*history.begin_resume("n1", drain_at(kStart)));
  EXPECT_TRUE((*open().drain_of("n1"))->resuming);
  EXPECT_EQ(events(open()).size(), 1);
}

TEST_F(HistoryTest, ADatabaseOfTheSecondSchemaIsCarriedOver) {
  {
    auto history = open();
    ASSERT_TRUE(history.note_boot("n1", "boot-1"));
    auto connection = Connection::open(file(), Connection::Access::write);
    for (const auto* sql : {"DROP TABLE sweeps", "PRAGMA user_version = 2"}) {
      ASSERT_TRUE(connection && connection->run(sql)) << sql;
    }
  }
  auto history = open();
  EXPECT_EQ(*history.boot_of("n1"), "boot-1");
  ASSERT_TRUE(history.begin_sweep(sweep_of("n1")));
  EXPECT_EQ(open().sweeps()->size(), 1);
}

}  // namespace
}  // namespace muster::slurm
