// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/base/descriptor.hpp"
#include "lib/hosts/hostlist.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

class HostWordsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file(std::string_view content) const {
    dir_.write("hosts", content);
    return "@" + (dir_.path() / "hosts").string();
  }

  [[nodiscard]] static std::string error_of(const std::string& word) {
    const auto hosts = hosts_of_words({word});
    return hosts ? "accepted" : hosts.error().message;
  }

  TempDir dir_;
};

TEST_F(HostWordsTest, ConcatenatesLists) {
  EXPECT_THAT(*hosts_of_words({"n[1-2]", "login"}), ElementsAre("n1", "n2", "login"));
  EXPECT_THAT(*hosts_of_words({}), IsEmpty());
}

TEST_F(HostWordsTest, ReadsListsFromAFile) {
  const auto word = file("n[1-2]\n\n# repaired\nn5, n7   # and this one\n");
  EXPECT_THAT(*hosts_of_words({word, "n9"}), ElementsAre("n1", "n2", "n5", "n7", "n9"));
}

TEST_F(HostWordsTest, ReadsStandardInputForAHyphen) {
  dir_.write("hosts", "n1\nn2\n");
  const Descriptor before(::dup(STDIN_FILENO));
  const Descriptor input(::open((dir_.path() / "hosts").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_GE(::dup2(input.get(), STDIN_FILENO), 0);
  const auto hosts = hosts_of_words({"-"});
  ::dup2(before.get(), STDIN_FILENO);
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_THAT(*hosts, ElementsAre("n1", "n2"));
}

TEST_F(HostWordsTest, NamesFileAndLineOfAnError) {
  EXPECT_THAT(error_of(file("n1\nn[2-\n")),
              EndsWith("/hosts: line 2, column 5: expected the number at the end of a range"));
  EXPECT_THAT(error_of(file("n1 slots=8\n")),
              EndsWith("/hosts: line 1, column 9: invalid character in a host name"));
  EXPECT_THAT(error_of(file("# comment\n")), EndsWith("/hosts: no hosts"));
  EXPECT_EQ(error_of("@/nowhere/hosts"), "/nowhere/hosts: No such file or directory");
}

}  // namespace
}  // namespace muster
