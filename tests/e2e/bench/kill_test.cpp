// SPDX-License-Identifier: Apache-2.0
// Any rank may be killed, stopped or terminated at any point: the other ranks exit, nothing is left
// behind, and one of them names the rank.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <ostream>
#include <thread>

#include "tests/e2e/bench/job.hpp"

namespace muster::e2e {
namespace {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kRanks = 3;
constexpr std::string_view kTableBegun = "(GB/s)";

// Longer than any test; many small sizes keep each deadline short.
Words endless(std::string_view join_deadline, const Words& more) {
  std::string sizes = "--sizes=20000";
  for (int size = 20004; size < 100000; size += 4) sizes.append(",").append(std::to_string(size));
  auto words = muster_bench(
      {"all_reduce", sizes, "--profile=generic", fmt::format("--join-deadline={}", join_deadline)});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// How the ranks are started, and how to find each of them.
class Party {
 public:
  virtual ~Party() = default;
  virtual void start(const Words& words) = 0;
  virtual pid_t pid_of(int rank) = 0;
  // The output of `rank` once everything has exited; `spared` is not waited for.
  virtual std::string output_of(int rank, int spared) = 0;
  ::testing::AssertionResult is_in_operation() { return job.says(0, kTableBegun); }

  Job job;
  Variables variables;
  int status = -1;  // the launcher's, or rank 0's
};

class ByHand : public Party {
 public:
  void start(const Words& words) override {
    const int port = free_port();
    for (int rank = 0; rank < kRanks; ++rank) {
      auto all = torchrun(rank, kRanks, port);
      all.insert(variables.begin(), variables.end());
      job.start(words, all);
    }
  }

  pid_t pid_of(int rank) override { return job.pid_of(static_cast<std::size_t>(rank)); }

  std::string output_of(int rank, int spared) override {
    std::string out;
    for (int each = 0; each < kRanks; ++each) {
      if (each == spared) continue;
      const auto end = job.end_of(static_cast<std::size_t>(each));
      if (each == rank) status = end.status;
      if (each == rank) out = end.out + end.err;
    }
    return out;
  }
};

// One process that starts the ranks and collects their output.
class Launched : public Party {
 public:
  explicit Launched(bool by_mpirun) : by_mpirun_(by_mpirun) {}

  void start(const Words& words) override {
    if (by_mpirun_) {
      job.start(mpirun(kRanks, words), variables);
    } else {
      auto local = words;
      local.insert(local.end(), {"--local", std::to_string(kRanks)});
      job.start(local, variables);
    }
  }

  pid_t pid_of(int rank) override {
    return by_mpirun_ ? job.rank_under_mpirun(rank) : job.local_rank_of(0, rank);
  }

  std::string output_of(int /*rank*/, int /*spared*/) override {
    const auto end = by_mpirun_ ? job.end_of_mpirun(0) : job.end_of(0);
    status = end.status;
    return end.out + end.err;
  }

 private:
  bool by_mpirun_;
};

struct Case {
  std::string name;
  std::string backend;
  enum class Start { by_hand, local, mpirun } start = Start::by_hand;
};

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name
void PrintTo(const Case& how, std::ostream* out) { *out << how.name; }

std::unique_ptr<Party> party_of(const Case& how) {
  if (how.start == Case::Start::by_hand) return std::make_unique<ByHand>();
  return std::make_unique<Launched>(how.start == Case::Start::mpirun);
}

Words words_of(const Case& how, Party& party, std::string_view join_deadline = "10s") {
  if (how.backend != "nccl") {
    return endless(join_deadline, {fmt::format("--backend={}", how.backend)});
  }
  const auto scenario = party.job.write("scenario.json", "{}");
  party.variables["MUSTER_FAKE_GPU"] = scenario;
  return endless(join_deadline,
                 {"--backend=nccl", fmt::format("--cuda={}/cuda/libcuda.so.1", MUSTER_FAKES),
                  fmt::format("--nccl={}/nccl/libnccl.so.2", MUSTER_FAKES)});
}

// Not found is -1, and kill(-1) would signal every process.
void send(pid_t pid, int number) {
  if (pid <= 0) {
    ADD_FAILURE() << "no such process";
    return;
  }
  ::kill(pid, number);
}

void expect_told(Party& party, int lost, std::string_view what) {
  const int reporter = lost == 0 ? 1 : 0;
  const auto said = party.output_of(reporter, -1);
  EXPECT_THAT(said, HasSubstr(fmt::format("rank {}", lost)));
  EXPECT_THAT(said, HasSubstr(std::string(what)));
  EXPECT_THAT(said, HasSubstr(" is unhealthy: "));
  EXPECT_NE(party.status, 0);
  EXPECT_NE(party.status, -1) << "it did not end";
  EXPECT_TRUE(party.job.leaves_nothing());
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
      const auto party = party_of(GetParam());
      party->start(words_of(GetParam(), *party));
      ASSERT_TRUE(party->is_in_operation());
      std::this_thread::sleep_for(delay);
      send(party->pid_of(rank), SIGKILL);
      expect_told(*party, rank, "exited unexpectedly");
      if (GetParam().start != Case::Start::mpirun) {
        EXPECT_EQ(party->status, 1);
      }
    }
  }
}

// Before the ranks meet, while they meet, and while the back end starts.
TEST_P(KillTest, AtAnyPointOfTheStart) {
  for (const int rank : {0, 1, kRanks - 1}) {
    for (const int delay : {0, 20, 80}) {
      SCOPED_TRACE(fmt::format("rank {} after {} ms", rank, delay));
      const auto party = party_of(GetParam());
      party->start(words_of(GetParam(), *party, "5s"));
      const pid_t pid = party->pid_of(rank);
      std::this_thread::sleep_for(milliseconds(delay));
      send(pid, SIGKILL);
      const auto said = party->output_of(rank == 0 ? 1 : 0, -1);
      EXPECT_NE(party->status, 0);
      EXPECT_NE(party->status, -1) << "it did not end";
      EXPECT_TRUE(party->job.leaves_nothing());
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
    const auto party = party_of(GetParam());
    auto words = words_of(GetParam(), *party);
    words.emplace_back("--operation-deadline=4s");
    party->start(words);
    ASSERT_TRUE(party->is_in_operation());
    const pid_t pid = party->pid_of(rank);
    send(pid, SIGSTOP);
    const auto said = party->output_of(rank == 0 ? 1 : 0, rank);
    const auto silent = rank == 0 ? "rank 0 does not answer" : "does not answer";
    if (GetParam().start == Case::Start::local) {
      // The launcher kills a rank that stays stopped, and may be the first to notice it.
      EXPECT_THAT(said, AnyOf(HasSubstr(silent), HasSubstr("was stopped, as by SIGSTOP")));
    } else {
      EXPECT_THAT(said, HasSubstr(silent));
    }
    EXPECT_THAT(said, HasSubstr(fmt::format("rank {}", rank)));
    EXPECT_NE(party->status, 0);
    if (GetParam().start == Case::Start::by_hand) {
      // No launcher ends the stopped process.
      send(pid, SIGKILL);
      EXPECT_EQ(party->job.end_of(static_cast<std::size_t>(rank)).status, 128 + SIGKILL);
    }
    EXPECT_TRUE(party->job.leaves_nothing());
  }
}

TEST_P(KillTest, ASignalToAllEndsTheRunWithAReport) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    SCOPED_TRACE(number);
    const auto party = party_of(GetParam());
    party->start(words_of(GetParam(), *party));
    ASSERT_TRUE(party->is_in_operation());
    if (GetParam().start == Case::Start::by_hand) {
      for (int rank = 0; rank < kRanks; ++rank) send(party->pid_of(rank), number);
    } else {
      send(party->job.pid_of(0), number);
    }
    const auto said = party->output_of(0, -1);
    EXPECT_NE(party->status, 0);
    EXPECT_TRUE(party->job.leaves_nothing());
    if (GetParam().start == Case::Start::mpirun) continue;  // it exits with its own status
    EXPECT_EQ(party->status, 2);
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
  const auto party = party_of(GetParam());
  party->start(words_of(GetParam(), *party));
  ASSERT_TRUE(party->is_in_operation());
  send(party->pid_of(1), SIGTERM);
  const auto said = party->output_of(0, -1);
  EXPECT_EQ(party->status, 2);
  EXPECT_THAT(said, HasSubstr("ended by SIGTERM"));
  EXPECT_EQ(said.find("unhealthy"), std::string::npos) << said;
  EXPECT_TRUE(party->job.leaves_nothing());
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
