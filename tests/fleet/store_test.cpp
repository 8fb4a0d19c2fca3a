// SPDX-License-Identifier: Apache-2.0
#include "fleet/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/support/temp_dir.hpp"

namespace muster::fleet {
namespace {

using ::testing::HasSubstr;

class StoreTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return temp_.path() / "fleet.db"; }

  void make() const {
    auto store = Store::open_to_write(file());
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(store->database().run("INSERT INTO node(cluster, name) VALUES('', 'n1')"));
  }

  TempDir temp_;
};

TEST_F(StoreTest, KeepsRows) {
  make();
  auto store = Store::open_to_read(file());
  ASSERT_TRUE(store) << store.error().message;
  const auto count = store->database().whole("SELECT count(*) FROM node");
  EXPECT_EQ(**count, 1);
}

TEST_F(StoreTest, ASecondWriterNamesTheFirst) {
  const auto first = Store::open_to_write(file());
  ASSERT_TRUE(first);
  const auto second = Store::open_to_write(file());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().status, kExitUndecided);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));
  EXPECT_TRUE(Store::open_to_read(file()));
}

TEST_F(StoreTest, AReaderChangesNothing) {
  make();
  auto store = Store::open_to_read(file());
  EXPECT_FALSE(store->database().run("DELETE FROM node"));
}

// As another user, because root can write to every folder.
TEST_F(StoreTest, IsReadableInAFolderThatIsNotWritable) {
  make();
  ASSERT_EQ(::chmod(temp_.path().c_str(), 0555), 0);
  const auto read_it = [&] {
    constexpr uid_t kNobody = 65'534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);
    ::_exit(Store::open_to_read(file()) ? 0 : 1);
  };
  EXPECT_EXIT(read_it(), ::testing::ExitedWithCode(0), "");
  ::chmod(temp_.path().c_str(), 0755);
}

TEST_F(StoreTest, RefusesANewerVersion) {
  make();
  {
    auto store = Store::open_to_write(file());
    ASSERT_TRUE(store->database().execute("PRAGMA user_version = 2"));
  }
  for (const auto& store : {Store::open_to_write(file()).map([](auto) {}),
                            Store::open_to_read(file()).map([](auto) {})}) {
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().status, kExitConfiguration);
    EXPECT_THAT(store.error().message, HasSubstr("version 2"));
  }
}

TEST_F(StoreTest, RefusesForeignFiles) {
  {
    auto foreign = Database::open(file().string(), Database::Mode::create);
    ASSERT_TRUE(foreign->execute("CREATE TABLE t(x)"));
  }
  EXPECT_EQ(Store::open_to_write(file()).error().status, kExitConfiguration);
  std::ofstream(file(), std::ios::trunc) << "a file of another kind, longer than its header\n";
  EXPECT_EQ(Store::open_to_read(file()).error().status, kExitConfiguration);
  const auto folder = temp_.path() / "folder";
  std::filesystem::create_directory(folder);
  for (const auto& foreign : {file(), folder}) {
    const auto store = Store::open_to_write(foreign);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().status, kExitConfiguration);
    EXPECT_THAT(store.error().message, HasSubstr("is not a fleet store"));
  }
  EXPECT_FALSE(std::filesystem::exists(temp_.path() / "folder.lock"));
}

TEST_F(StoreTest, AMissingStoreSaysHowToMakeOne) {
  const auto store = Store::open_to_read(file());
  EXPECT_EQ(store.error().status, kExitConfiguration);
  EXPECT_THAT(store.error().message, HasSubstr("muster fleet add"));
}

}  // namespace
}  // namespace muster::fleet
