// SPDX-License-Identifier: Apache-2.0
#include "bench/run/meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kContradiction =
    "MPI says rank 0 of 1, and the launcher's variables say rank 3 of 4: was this process started "
    "by another MPI's mpirun?";

Place third() { return {.launcher = Launcher::hydra, .rank = 3, .world = 4, .mpi = true}; }

TEST(PartyTest, TakesTheMpiThatSaysTheSame) {
  auto place = third();
  EXPECT_TRUE(fits({.rank = 3, .size = 4}, place, true).value());
  EXPECT_THAT(place.evidence, IsEmpty());
}

TEST(PartyTest, DropsAnotherMpiWhereItIsNotNeeded) {
  auto place = third();
  EXPECT_FALSE(fits({.rank = 0, .size = 1}, place, false).value());
  EXPECT_THAT(place.evidence, ElementsAre(std::string("without MPI: ") + kContradiction));
}

TEST(PartyTest, RefusesAnotherMpiWhereItIsNeeded) {
  auto place = third();
  EXPECT_EQ(fits({.rank = 0, .size = 1}, place, true).error().message, kContradiction);
}

class SecretFileTest : public ::testing::Test {
 protected:
  SecretFileTest() { dir_.write("secret", "of the job\n"); }

  [[nodiscard]] Result<std::string> secret_of_mode(unsigned mode) const {
    const auto file = dir_.path() / "secret";
    std::filesystem::permissions(file, std::filesystem::perms(mode));
    BenchCommand command;
    command.secret_file = file.string();
    return job_secret(command, {});
  }

  TempDir dir_;
};

TEST_F(SecretFileTest, IsReadWhereNotEverybodyMayUseIt) {
  EXPECT_EQ(secret_of_mode(0600).value(), "of the job");
  EXPECT_EQ(secret_of_mode(0440).value(), "of the job");
}

TEST_F(SecretFileTest, IsNoSecretWhereEverybodyMay) {
  for (const unsigned mode : {0644U, 0604U, 0602U}) {
    const auto secret = secret_of_mode(mode);
    ASSERT_FALSE(secret) << mode;
    EXPECT_THAT(secret.error().message, ::testing::HasSubstr("--secret-file: everybody may use "));
    EXPECT_THAT(secret.error().message, ::testing::HasSubstr(": chmod o-rwx "));
  }
}

}  // namespace
}  // namespace muster::bench
