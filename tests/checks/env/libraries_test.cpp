// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::env_libraries_test {
namespace {

using ::testing::ElementsAre;

Findings judged(Fact<std::vector<Library>> libraries, const EnvLibraryLimits& limits) {
  Snapshot snapshot;
  snapshot.environment = observed(Environment{.libraries = std::move(libraries)});
  Profile profile;
  profile.env->libraries = limits;
  return ask(checks::env_libraries::check, snapshot, profile);
}

std::vector<Library> libraries() {
  return {{.name = "libnccl.so.2", .opened = true, .version = "2.9.3"},
          {.name = "libmlx5.so.1",
           .opened = false,
           .error = "libmlx5.so.1: cannot open shared object file"}};
}

TEST(EnvLibrariesTest, PassesWhenTheRequiredOnesOpen) {
  EXPECT_THAT(judged(libraries(), {.required = {"libnccl.so.2"}, .nccl_min = "2.9"}),
              ElementsAre(passes()));
}

TEST(EnvLibrariesTest, WarnsOfARequiredOneThatDoesNotOpen) {
  EXPECT_THAT(judged(libraries(), {.required = {"libmlx5.so.1"}}),
              ElementsAre(warns("libmlx5.so.1", Remedy::fix_config, {false, true})));
}

TEST(EnvLibrariesTest, ComparesNcclsVersionByNumbers) {
  EXPECT_THAT(judged(libraries(), {.optional = {"libnccl.so.2"}, .nccl_min = "2.18.1"}),
              ElementsAre(warns("libnccl.so.2", Remedy::fix_config,
                                {std::string("2.9.3"), std::string("2.18.1")})));
}

TEST(EnvLibrariesTest, AMissingVersionIsUnknown) {
  EXPECT_EQ(
      judged({{{.name = "libnccl.so.2", .opened = true}}}, {.nccl_min = "2.18.1"}).front().outcome,
      Outcome::unknown);
}

TEST(EnvLibrariesTest, ALibraryMissingFromTheSnapshotIsUnknown) {
  EXPECT_EQ(judged(libraries(), {.required = {"libcuda.so.1"}}).front().outcome, Outcome::unknown);
}

TEST(EnvLibrariesTest, SkipsBelowAForeignRootAndWhereNothingIsRequired) {
  EXPECT_THAT(
      judged(Fact<std::vector<Library>>::absent("libraries of a foreign root are not opened"),
             {.required = {"libcuda.so.1"}}),
      ElementsAre(skips()));
  EXPECT_EQ(judged(libraries(), {.optional = {"libnccl.so.2"}}).front().outcome, Outcome::skip);
}

}  // namespace
}  // namespace muster::env_libraries_test
