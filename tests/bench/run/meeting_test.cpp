// SPDX-License-Identifier: Apache-2.0
#include "bench/run/meeting.hpp"

#include <filesystem>

#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

template <class T>
void expect_round_trip(const T& sent) {
  EXPECT_EQ(from_message<T>(to_message(sent), 3).value(), sent);
}

// Times and raw bits keep every digit.
TEST(MessagesTest, RoundTrip) {
  constexpr std::uint64_t kAllBits = ~0ULL;
  expect_round_trip(Introduction{.host = "gpu-0001",
                                 .backend = "nccl",
                                 .profile = "nd96asr_v4",
                                 .command_line = "all_reduce --min 8"});
  expect_round_trip(std::vector<Member>{{5, "gpu-0001", 7, "NVIDIA H100", "gpu5", "0001:00:00.0"}});
  expect_round_trip(Batch{.samples = {{.rank = 1, .seconds = {0.1, 1e-9, 3.0000000000000004}}},
                          .wrong = {{.rank = 1,
                                     .elements = 2,
                                     .first = 1ULL << 60U,
                                     .observed = kAllBits,
                                     .low = 3,
                                     .high = kAllBits - 1}}});
  expect_round_trip(Agreement{.refusal = "",
                              .hosts = {"gpu-0001", "gpu-0002"},
                              .places = {{0, 0}, {1, 0}, {0, 1}},
                              .domains = {"c:1", ""}});
  EXPECT_FALSE(from_message<Agreement>("[1]", 0).has_value());
}

TEST(MessagesTest, NamesTheRankOfAnotherVersion) {
  constexpr auto kBeginning =
      "rank 7 runs another version of muster-bench: cannot parse its message (";
  for (const auto* text : {"", "{", "[]", "7", "{}", R"({"host": 3})", R"({"samples": [{}]})"}) {
    const auto introduction = from_message<Introduction>(text, 7);
    ASSERT_FALSE(introduction.has_value()) << text;
    EXPECT_THAT(introduction.error().message, StartsWith(kBeginning));
    const auto batch = from_message<Batch>(text, 7);
    ASSERT_FALSE(batch.has_value()) << text;
    EXPECT_THAT(batch.error().message, StartsWith(kBeginning));
  }
  const auto members = from_message<std::vector<Member>>("[{}]", 7);
  ASSERT_FALSE(members.has_value());
  EXPECT_THAT(members.error().message, StartsWith(kBeginning));
}

// Invalid UTF-8 is replaced.
TEST(MessagesTest, AcceptsBytesThatAreNotText) {
  const auto got = from_message<Introduction>(to_message(Introduction{.host = "a\xff"
                                                                              "b"}),
                                              0);
  ASSERT_TRUE(got.has_value());
  EXPECT_THAT(got->host, StartsWith("a"));
}

Introduction on(std::string host) {
  return {.host = std::move(host),
          .backend = "nccl",
          .profile = "nd96asr_v4",
          .command_line = "all_reduce"};
}

TEST(AgreementTest, CountsTheRanksOfEachHost) {
  const auto agreed = agreement_of({on("b"), on("a"), on("b"), on("b"), on("a")});
  EXPECT_EQ(agreed.refusal, "");
  EXPECT_THAT(agreed.hosts, ElementsAre("b", "a"));
  EXPECT_EQ(agreed.places, (std::vector<RankPlace>{{0, 0}, {1, 0}, {0, 1}, {0, 2}, {1, 1}}));
}

TEST(AgreementTest, FindsWhetherAllNodesAreInOneNvlinkDomain) {
  const auto in = [](std::string host, std::string domain) {
    auto introduction = on(std::move(host));
    introduction.domain = std::move(domain);
    return introduction;
  };
  EXPECT_TRUE(agreement_of({in("a", "c:1"), in("a", "c:1"), in("b", "c:1")}).is_one_domain());
  EXPECT_FALSE(agreement_of({in("a", "c:1"), in("b", "c:2")}).is_one_domain());
  EXPECT_FALSE(agreement_of({in("a", "c:1"), in("b", "")}).is_one_domain());
  EXPECT_FALSE(agreement_of({on("a"), on("b")}).is_one_domain());
  EXPECT_THAT(agreement_of({in("a", "c:1"), in("a", "c:1"), in("b", "")}).domains,
              ElementsAre("c:1", ""));
}

// Rank 3 has not started the operation in which all others are.
TEST(SimulatedStagesTest, ARankThatHangsIsBehind) {
  const Stage own{.counted = true, .started = 3, .finished = 2, .unit = "operation"};
  const auto ranks_named = [&](std::string_view sim) {
    return late_trouble(own, simulated_stages(*parse_sim(sim), own)).ranks;
  };
  EXPECT_THAT(ranks_named("nodes=2,fault=hang:3:2"), ElementsAre(3));
  EXPECT_THAT(ranks_named("nodes=2,fault=hang:1"), ElementsAre(8));
  EXPECT_THAT(ranks_named("nodes=2,fault=hang_link:0:1"), IsEmpty());
  EXPECT_THAT(ranks_named("nodes=2"), IsEmpty());
}

TEST(AgreementTest, NamesTheRankWithOtherArguments) {
  auto other = on("b");
  other.command_line = "broadcast";
  EXPECT_EQ(agreement_of({on("a"), on("a"), other}).refusal,
            "rank 2 on b was started with broadcast, and rank 0 with all_reduce: all ranks need "
            "the same arguments");
}

TEST(AgreementTest, NamesTheRankWithAnotherBackend) {
  auto other = on("b");
  other.backend = "tcp";
  EXPECT_THAT(
      agreement_of({on("a"), other}).refusal,
      AllOf(HasSubstr("rank 0 on a would run the back end nccl"), HasSubstr("rank 1 on b tcp")));
}

TEST(AgreementTest, NamesEachNodeOfAnotherKindOnce) {
  std::vector<Introduction> all{on("a"), on("a")};
  EXPECT_THAT(other_profiles(all), IsEmpty());
  for (const auto* host : {"b", "b", "c"}) {
    all.push_back(on(host));
    all.back().profile = "generic";
  }
  EXPECT_THAT(other_profiles(all), ElementsAre("b looks like generic, unlike the node of rank 0",
                                               "c looks like generic, unlike the node of rank 0"));
}

constexpr auto kContradiction =
    "MPI reports rank 0 of 1, and the launcher's variables rank 3 of 4: was this process started "
    "by another MPI's mpirun?";

TEST(MpiTest, IsUsedOnlyIfItAgreesWithTheLauncher) {
  Place place{.launcher = Launcher::hydra, .rank = 3, .world = 4, .mpi = true};
  EXPECT_TRUE(fits(3, 4, place, true).value());
  EXPECT_THAT(place.evidence, IsEmpty());
  EXPECT_FALSE(fits(0, 1, place, false).value()) << "not needed";
  EXPECT_THAT(place.evidence, ElementsAre(std::string("without MPI: ") + kContradiction));
  EXPECT_EQ(fits(0, 1, place, true).error().message, kContradiction);
}

class SecretFileTest : public ::testing::Test {
 protected:
  SecretFileTest() { dir_.write("secret", "of the job\n"); }

  [[nodiscard]] std::filesystem::path file() const { return dir_.path() / "secret"; }

  [[nodiscard]] static Result<std::string> secret_in(const std::filesystem::path& file) {
    BenchCommand command;
    command.secret_file = file.string();
    return job_secret(command, {});
  }

  [[nodiscard]] Result<std::string> secret_of_mode(unsigned mode) const {
    std::filesystem::permissions(file(), std::filesystem::perms(mode));
    return secret_in(file());
  }

  TempDir dir_;
};

TEST_F(SecretFileTest, IsReadIfOnlySomeUsersHaveAccess) {
  EXPECT_EQ(secret_of_mode(0600).value(), "of the job");
  EXPECT_EQ(secret_of_mode(0440).value(), "of the job");
}

TEST_F(SecretFileTest, IsRelativeToTheWorkingFolder) {
  std::filesystem::permissions(file(), std::filesystem::perms(0600));
  EXPECT_EQ(secret_in(std::filesystem::relative(file())).value(), "of the job");
}

TEST_F(SecretFileTest, IsRefusedIfAllUsersHaveAccess) {
  for (const unsigned mode : {0644U, 0604U, 0602U}) {
    const auto secret = secret_of_mode(mode);
    ASSERT_FALSE(secret) << mode;
    EXPECT_THAT(secret.error().message, HasSubstr("is open to all users: chmod o-rwx "));
  }
}

}  // namespace

}  // namespace muster::bench
