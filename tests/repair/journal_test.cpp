// SPDX-License-Identifier: Apache-2.0
#include "repair/journal.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "lib/base/uuid.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::repair {
namespace {

using ::testing::Field;

RepairRecord record(const std::string& id, State state) {
  return {.id = id,
          .at = "2026-11-01T10:00:00Z",
          .node = "gpu-1",
          .rung = Rung::reset_gpu,
          .state = state,
          .incident = "gpu.present node 2026-11-01T09:00:00Z",
          .serials = {"165", "hostile \"\n\t{}"},
          .why = "because"};
}

class RepairJournalTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return temp_.path() / "repair"; }

  [[nodiscard]] std::filesystem::path file() const { return folder() / "journal.jsonl"; }

  TempDir temp_;
};

TEST_F(RepairJournalTest, KeepsRecordsInTheirOrder) {
  EXPECT_THAT(*RepairJournal::read(folder()), ElementsAre());
  {
    auto journal = RepairJournal::open(folder());
    ASSERT_TRUE(journal) << journal.error().message;
    ASSERT_TRUE(journal->add(record("a", State::reserved)));
    ASSERT_TRUE(journal->add(record("b", State::shadow)));
    ASSERT_TRUE(journal->add(record("a", State::succeeded)));
  }
  const auto read = RepairJournal::read(folder());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, ElementsAre(record("a", State::reserved), record("b", State::shadow),
                                 record("a", State::succeeded)));
  EXPECT_THAT(latest(*read),
              ElementsAre(record("a", State::succeeded), record("b", State::shadow)));
}

TEST_F(RepairJournalTest, OnlyItsOwnerMayReadIt) {
  auto journal = RepairJournal::open(folder());
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->add(record("a", State::reserved)));
  struct stat status = {};
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(RepairJournalTest, RefusesAFolderThatOthersMayWriteTo) {
  std::filesystem::create_directory(folder());
  ::chmod(folder().c_str(), 0777);
  const auto journal = RepairJournal::open(folder());
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().message, HasSubstr(folder().string()));
}

TEST_F(RepairJournalTest, StopsAtADamagedLineAndNamesIt) {
  const auto whole = R"({"schema":"muster.repair/1","id":"a","at":"","node":"n",)"
                     R"("rung":"claim","state":"sent","incident":""})";
  for (const std::string damage :
       {"{\"id\": ", "nonsense\n", whole, "{\"schema\":\"muster.repair/2\",\"id\":\"b\"}\n"}) {
    temp_.write("repair/journal.jsonl", std::string(whole) + "\n" + damage);
    ::chmod(folder().c_str(), 0700);
    const auto journal = RepairJournal::open(folder());
    ASSERT_FALSE(journal) << damage;
    EXPECT_THAT(journal.error().message, HasSubstr("journal.jsonl:2: a damaged record"));
  }
}

TEST_F(RepairJournalTest, OneProcessDecidesAtATime) {
  auto first = RepairJournal::open(folder());
  ASSERT_TRUE(first);
  std::jthread releases([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ASSERT_TRUE(first->add(record("a", State::reserved)));
    const auto gone = *std::move(first);
  });
  const auto second = RepairJournal::open(folder());
  ASSERT_TRUE(second);
  EXPECT_THAT(second->records(), ElementsAre(Field(&RepairRecord::id, "a")));
}

TEST(MakeUuidTest, SortsByTime) {
  const auto first = make_uuid();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_LT(first, make_uuid());
  EXPECT_EQ(first.size(), 36U);
  EXPECT_EQ(first[14], '7');
}

}  // namespace
}  // namespace muster::repair
