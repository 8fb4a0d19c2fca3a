// SPDX-License-Identifier: Apache-2.0
// Kills an import at some of its writes, or at each one with MUSTER_EVERY_WRITE: nothing that was
// imported before is lost, and the next import completes it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fleet/add.hpp"
#include "fleet/store.hpp"
#include "tests/fleet/dump.hpp"
#include "tests/fleet/killing_files.hpp"
#include "tests/fleet/year.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::fleet {
namespace {

namespace fs = std::filesystem;

Result<void> import(const fs::path& store, const fs::path& file) {
  auto opened = Store::open_to_write(store);
  if (!opened) return make_error(opened.error().message);
  Importer importer(opened->database(), "");
  DocumentSource source({file.string()});
  return import_documents(opened->database(), importer, source,
                          [](const Snapshot& /*snapshot*/) -> Result<std::string> {
                            return make_error("no snapshots here");
                          });
}

class KillTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file(const std::string& name) const { return temp_.path() / name; }

  void write_reports(const std::string& name, int first_day, int last_day) const {
    const Year year({.failures = 60});
    std::ofstream out(file(name));
    for (int day = first_day; day < last_day; ++day) {
      for (const int node : {8, 43, 61}) out << year.report(node, day) << '\n';
    }
  }

  // False if the import ended before that write.
  [[nodiscard]] bool is_killed_at(int write) const {
    const auto child = ::fork();
    if (child == 0) {
      kill_at_write(write);
      ::_exit(import(file("store"), file("second.jsonl")) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 1) << status;
    return WEXITSTATUS(status) == kKilled;
  }

  void copy_first() const {
    for (const auto* end : {"", "-wal", "-shm"}) {
      fs::remove(file(fmt::format("store{}", end)));
    }
    fs::copy_file(file("first"), file("store"));
  }

  TempDir temp_;
};

TEST_F(KillTest, AKilledImportLosesNothing) {
  write_reports("first.jsonl", 100, 110);
  write_reports("second.jsonl", 110, 210);
  ASSERT_TRUE(import(file("first"), file("first.jsonl")));
  copy_first();
  ASSERT_TRUE(import(file("store"), file("second.jsonl")));
  const auto expected = dump(Store::open_to_read(file("store"))->database());

  const int step = std::getenv("MUSTER_EVERY_WRITE") == nullptr ? 97 : 1;
  int kills = 0;
  for (int write = 1;; write += step, ++kills) {
    copy_first();
    if (!is_killed_at(write)) break;
    {
      auto store = Store::open_to_write(file("store"));
      ASSERT_TRUE(store) << store.error().message;
      const auto kept = store->database().whole("SELECT count(*) FROM report");
      ASSERT_TRUE(kept && **kept >= 30) << write;
    }
    ASSERT_TRUE(import(file("store"), file("second.jsonl")));
    ASSERT_EQ(dump(Store::open_to_read(file("store"))->database()), expected) << write;
  }
  EXPECT_GT(kills, 2);
}

}  // namespace
}  // namespace muster::fleet
