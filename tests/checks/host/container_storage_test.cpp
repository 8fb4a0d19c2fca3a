// SPDX-License-Identifier: Apache-2.0
// host.container_storage judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_container_storage_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;
const std::string kPath = "/mnt/nvme/enroot";

Findings judge(std::vector<FileFact> files, Limit<Bytes> free_min = Bytes{100.0 * kGib}) {
  return ask(checks::host_container_storage::check,
             {.environment = observed(Environment{.files = std::move(files)})},
             {.host = HostLimits{.container_storage = {.paths = {kPath}, .free_min = free_min}}});
}

FileFact directory(std::uint64_t free_gib) {
  return {.path = kPath,
          .exists = true,
          .directory = true,
          .writable = true,
          .space = Space{.available_bytes = free_gib * kGib}};
}

Expected warning(std::string seen, std::string limit) {
  return {.device = kPath,
          .outcome = Outcome::warn,
          .observed = std::move(seen),
          .limit = std::move(limit),
          .remedy = Remedy::fix_config};
}

TEST(HostContainerStorageTest, PassesWithRoom) {
  EXPECT_THAT(judge({directory(100)}), ElementsAre(passes()));
}

TEST(HostContainerStorageTest, WarnsOfTooLittleRoom) {
  EXPECT_THAT(judge({directory(99)}),
              ElementsAre(warns(kPath, Remedy::fix_config,
                                {std::int64_t{99 * kGib}, std::int64_t{100 * kGib}, "B"})));
}

TEST(HostContainerStorageTest, WarnsOfAMissingDirectory) {
  EXPECT_THAT(judge({{.path = kPath}}), ElementsAre(warning("missing", "directory")));
}

TEST(HostContainerStorageTest, WarnsOfAFileInItsPlace) {
  EXPECT_THAT(judge({{.path = kPath, .exists = true, .writable = true}}),
              ElementsAre(warning("not a directory", "directory")));
}

TEST(HostContainerStorageTest, WarnsOfADirectoryThatCannotBeWritten) {
  FileFact file = directory(500);
  file.writable = false;
  EXPECT_THAT(judge({file}), ElementsAre(warning("not writable", "writable")));
}

TEST(HostContainerStorageTest, IsUndecidedWhereTheFactsAreMissing) {
  FileFact file = directory(500);
  file.space = Fact<Space>::unreadable("statfs: Input/output error");
  EXPECT_THAT(judge({file}), ElementsAre(unknown(kPath)));
  file.writable = Fact<bool>::unreadable("stat: Permission denied");
  EXPECT_THAT(judge({file}), ElementsAre(unknown(kPath)));
  EXPECT_THAT(judge({}), ElementsAre(unknown(kPath)));
}

TEST(HostContainerStorageTest, JudgesNoRoomWithoutALimit) {
  EXPECT_THAT(judge({directory(0)}, {}), ElementsAre(passes()));
}

TEST(HostContainerStorageTest, IsSkippedWithoutPaths) {
  EXPECT_THAT(
      ask(checks::host_container_storage::check, {.environment = observed(Environment{})}, {}),
      ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_container_storage_test
