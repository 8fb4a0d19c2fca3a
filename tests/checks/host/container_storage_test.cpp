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

Finding warning(std::string message, std::string seen, std::string limit) {
  return {.device = kPath,
          .outcome = Outcome::warn,
          .message = std::move(message),
          .observed = std::move(seen),
          .limit = std::move(limit),
          .remedy = Remedy::fix_config};
}

TEST(HostContainerStorageTest, PassesWithRoom) {
  EXPECT_THAT(judge({directory(100)}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "1 directory for containers writable, with room"}));
}

TEST(HostContainerStorageTest, WarnsOfTooLittleRoom) {
  EXPECT_THAT(judge({directory(99)}),
              ElementsAre(Finding{
                  .device = kPath,
                  .outcome = Outcome::warn,
                  .message = "99.0 GiB free in /mnt/nvme/enroot, expected at least 100.0 GiB",
                  .observed = std::int64_t{99 * kGib},
                  .limit = std::int64_t{100 * kGib},
                  .unit = "B",
                  .remedy = Remedy::fix_config}));
}

TEST(HostContainerStorageTest, WarnsOfAMissingDirectory) {
  EXPECT_THAT(judge({{.path = kPath}}),
              ElementsAre(warning("/mnt/nvme/enroot does not exist", "missing", "directory")));
}

TEST(HostContainerStorageTest, WarnsOfAFileInItsPlace) {
  EXPECT_THAT(
      judge({{.path = kPath, .exists = true, .writable = true}}),
      ElementsAre(warning("/mnt/nvme/enroot is not a directory", "not a directory", "directory")));
}

TEST(HostContainerStorageTest, WarnsOfADirectoryThatCannotBeWritten) {
  FileFact file = directory(500);
  file.writable = false;
  EXPECT_THAT(judge({file}),
              ElementsAre(warning("/mnt/nvme/enroot is not writable", "not writable", "writable")));
}

TEST(HostContainerStorageTest, IsUndecidedWhereTheFactsAreMissing) {
  FileFact file = directory(500);
  file.space = Fact<Space>::unreadable("statfs: Input/output error");
  EXPECT_THAT(
      judge({file}),
      ElementsAre(Finding{.device = kPath,
                          .outcome = Outcome::unknown,
                          .message = "the free space is not known: statfs: Input/output error"}));
  file.writable = Fact<bool>::unreadable("stat: Permission denied");
  EXPECT_THAT(
      judge({file}),
      ElementsAre(Finding{
          .device = kPath,
          .outcome = Outcome::unknown,
          .message =
              "whether /mnt/nvme/enroot is writable is not known: stat: Permission denied"}));
  EXPECT_THAT(judge({}),
              ElementsAre(Finding{
                  .device = kPath,
                  .outcome = Outcome::unknown,
                  .message = "whether /mnt/nvme/enroot exists is not known: the snapshot was taken "
                             "without looking for it"}));
}

TEST(HostContainerStorageTest, JudgesNoRoomWithoutALimit) {
  EXPECT_THAT(judge({directory(0)}, {}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "1 directory for containers writable"}));
}

TEST(HostContainerStorageTest, IsSkippedWithoutPaths) {
  EXPECT_THAT(
      ask(checks::host_container_storage::check, {.environment = observed(Environment{})}, {}),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::skip,
                          .message = "no container storage expected by this profile"}));
}

}  // namespace
}  // namespace muster::host_container_storage_test
