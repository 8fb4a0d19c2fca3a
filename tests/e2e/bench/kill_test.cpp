// SPDX-License-Identifier: Apache-2.0
// Any rank may be killed, stopped or terminated at any point: the other ranks exit, nothing is left
// behind, and one of them names the rank.
#include <fmt/format.h>

#include <csignal>
#include <ostream>
#include <thread>

#include "tests/e2e/bench/job.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 3;

struct Case {
  std::string name;
  std::string backend;
  enum class Start { by_hand, local, mpirun } start = Start::by_hand;
};

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name
void PrintTo(const Case& how, std::ostream* out) { *out << how.name; }

// Longer than any test; many small sizes keep each deadline short.
std::string many_sizes() {
  std::string sizes = "--sizes=20000";
  for (int size = 20004; size < 100000; size += 4) sizes.append(",").append(std::to_string(size));
  return sizes;
}

// Three ranks at work, and how to find each of them.
class Party {
 public:
  explicit Party(const Case& how, const Words& more = {"--join-deadline=10s"}) : how_(how) {
    auto words = with(muster_bench({"all_reduce", many_sizes(), "--profile=generic",
                                    fmt::format("--backend={}", how.backend)}),
                      more);
    Variables variables;
    if (how.backend == "nccl") {
      words = on_fake_gpus(std::move(words));
      variables["MUSTER_FAKE_GPU"] = job.write("scenario.json", "{}");
    }
    if (how.start != Case::Start::by_hand) {
      job.start(how.start == Case::Start::mpirun
                    ? mpirun(kRanks, words)
                    : with(std::move(words), {"--local", std::to_string(kRanks)}),
                variables);
      return;
    }
    const int port = free_port();
    for (int rank = 0; rank < kRanks; ++rank) job.start(words, torchrun(rank, kRanks, port));
  }

  ::testing::AssertionResult is_in_operation() { return job.says(0, "(GB/s)"); }

  [[nodiscard]] pid_t pid_of(int rank) const {
    if (how_.start == Case::Start::by_hand) return job.pid_of(static_cast<std::size_t>(rank));
    return how_.start == Case::Start::mpirun ? job.rank_under_mpirun(rank)
                                             : job.local_rank_of(0, rank);
  }

  // The output of `rank`, or of its launcher, once everything has exited; `spared` is not waited
  // for.
  std::string output_of(int rank, int spared = -1) {
    Ended end;
    if (how_.start == Case::Start::by_hand) {
      for (int each = 0; each < kRanks; ++each) {
        if (each == spared) continue;
        auto ended = job.end_of(static_cast<std::size_t>(each));
        if (each == rank) end = std::move(ended);
      }
    } else {
      end = how_.start == Case::Start::mpirun ? job.end_of_mpirun(0) : job.end_of(0);
    }
    status = end.status;
    return end.out + end.err;
  }

  Job job;
  int status = -1;  // of output_of()

 private:
  Case how_;
};

// Not found is -1, and kill(-1) would signal every process.
void send(pid_t pid, int number) {
  if (pid <= 0) {
    ADD_FAILURE() << "no such process";
    return;
  }
  ::kill(pid, number);
}

class KillTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().start == Case::Start::mpirun && !has_mpirun()) {
      GTEST_SKIP() << "mpirun is not installed";
    }
  }
};

TEST_P(KillTest, DuringAnOperation) {
  for (const int rank : {0, 1, kRanks - 1}) {
    for (const auto delay : {milliseconds(0), milliseconds(70)}) {
      SCOPED_TRACE(fmt::format("rank {} after {} ms", rank, delay.count()));
      Party party(GetParam());
      ASSERT_TRUE(party.is_in_operation());
      std::this_thread::sleep_for(delay);
      send(party.pid_of(rank), SIGKILL);
      EXPECT_THAT(party.output_of(rank == 0 ? 1 : 0),
                  AllOf(HasSubstr(fmt::format("rank {}", rank)), HasSubstr("exited unexpectedly"),
                        HasSubstr(" is unhealthy: "), Not(HasSubstr("bench.completion  job"))));
      EXPECT_NE(party.status, 0);
      EXPECT_NE(party.status, -1) << "it did not end";
      EXPECT_TRUE(party.job.leaves_nothing());
      if (GetParam().start != Case::Start::mpirun) {
        EXPECT_EQ(party.status, 1);
      }
    }
  }
}

// Before the ranks meet, while they meet, and while the back end starts.
TEST_P(KillTest, AtAnyPointOfTheStart) {
  for (const int rank : {0, 1, kRanks - 1}) {
    for (const int delay : {0, 20, 80}) {
      SCOPED_TRACE(fmt::format("rank {} after {} ms", rank, delay));
      Party party(GetParam(), {"--join-deadline=5s"});
      const pid_t pid = party.pid_of(rank);
      std::this_thread::sleep_for(milliseconds(delay));
      send(pid, SIGKILL);
      const auto said = party.output_of(rank == 0 ? 1 : 0);
      EXPECT_NE(party.status, 0);
      EXPECT_NE(party.status, -1) << "it did not end";
      EXPECT_TRUE(party.job.leaves_nothing());
      // Only mpirun knows of a rank that exited before the ranks met, and it ends the others.
      if (GetParam().start == Case::Start::mpirun) continue;
      EXPECT_THAT(said, HasSubstr(fmt::format("rank {}", rank)));
      // A launcher may end the others before they can report anything; it names the rank itself.
      EXPECT_THAT(said, AnyOf(HasSubstr("exited unexpectedly"), HasSubstr("did not come"),
                              HasSubstr("ended before all ranks had met"),
                              HasSubstr(fmt::format("rank {} (pid {}) was killed", rank, pid))));
    }
  }
}

TEST_P(KillTest, StoppedRanksAreNamedAsLate) {
  for (const int rank : {0, 1, kRanks - 1}) {
    SCOPED_TRACE(fmt::format("rank {}", rank));
    Party party(GetParam(), {"--join-deadline=10s", "--operation-deadline=4s"});
    ASSERT_TRUE(party.is_in_operation());
    const pid_t pid = party.pid_of(rank);
    send(pid, SIGSTOP);
    const auto said = party.output_of(rank == 0 ? 1 : 0, rank);
    const auto silent = rank == 0 ? "rank 0 does not answer" : "does not answer";
    EXPECT_THAT(said, HasSubstr(silent));
    EXPECT_THAT(said, Not(HasSubstr("was stopped, as by SIGSTOP")));
    EXPECT_THAT(said, HasSubstr(fmt::format("rank {}", rank)));
    EXPECT_NE(party.status, 0);
    if (GetParam().start == Case::Start::by_hand) {
      // No launcher ends the stopped process.
      send(pid, SIGKILL);
      EXPECT_EQ(party.job.end_of(static_cast<std::size_t>(rank)).status, 128 + SIGKILL);
    }
    EXPECT_TRUE(party.job.leaves_nothing());
  }
}

TEST_P(KillTest, ASignalToAllEndsTheRunWithAReport) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    SCOPED_TRACE(number);
    Party party(GetParam());
    ASSERT_TRUE(party.is_in_operation());
    if (GetParam().start == Case::Start::by_hand) {
      for (int rank = 0; rank < kRanks; ++rank) send(party.pid_of(rank), number);
    } else {
      send(party.job.pid_of(0), number);
    }
    const auto said = party.output_of(0);
    EXPECT_NE(party.status, 0);
    EXPECT_TRUE(party.job.leaves_nothing());
    if (GetParam().start == Case::Start::mpirun) continue;  // it exits with its own status
    EXPECT_EQ(party.status, 2);
    EXPECT_THAT(said, HasSubstr("ended by SIG"));
    // One report, from rank 0.
    const auto first = said.find("# verdict");
    EXPECT_NE(first, std::string::npos) << said;
    EXPECT_EQ(said.find("# verdict", first + 1), std::string::npos) << said;
  }
}

// An evicted pod is not its node's fault, nor another node's.
TEST_P(KillTest, ASignalToOneRankIsUndecidedOnEveryRank) {
  if (GetParam().start != Case::Start::by_hand) GTEST_SKIP() << "its launcher ends the others";
  Party party(GetParam());
  ASSERT_TRUE(party.is_in_operation());
  send(party.pid_of(1), SIGTERM);
  const auto said = party.output_of(0);
  EXPECT_EQ(party.status, 2);
  EXPECT_THAT(said, HasSubstr("ended by SIGTERM"));
  EXPECT_EQ(said.find("unhealthy"), std::string::npos) << said;
  EXPECT_TRUE(party.job.leaves_nothing());
}

std::string name_of(const ::testing::TestParamInfo<Case>& it) { return it.param.name; }

const std::vector<Case> kHere{{"tcp", "tcp", Case::Start::by_hand},
                              {"local", "tcp", Case::Start::local},
                              {"nccl", "nccl", Case::Start::local}};
const std::vector<Case> kUnderMpirun{{"mpi", "mpi", Case::Start::mpirun},
                                     {"tcp", "tcp", Case::Start::mpirun}};

INSTANTIATE_TEST_SUITE_P(Alone, KillTest, ::testing::ValuesIn(kHere), name_of);
INSTANTIATE_TEST_SUITE_P(Mpi, KillTest, ::testing::ValuesIn(kUnderMpirun), name_of);

}  // namespace
}  // namespace muster::e2e
