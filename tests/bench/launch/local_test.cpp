// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/local.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

constexpr auto kGrace = std::chrono::milliseconds(100);

// Forks ranks that exit with the result of `work`.
LocalEnd run(const Place& place, int count, const std::function<int(LocalRank&)>& work,
             const std::string& secret = {}) {
  auto result = fork_local_ranks(
      place, {.count = count, .secret = secret, .grace = kGrace, .stopped = kGrace});
  EXPECT_TRUE(result) << result.error().message;
  if (!result) return {};
  if (auto* rank = std::get_if<LocalRank>(&*result)) ::_exit(work(*rank));
  return std::get<LocalEnd>(*result);
}

TEST(LocalTest, MakesEachChildARank) {
  const auto end = run({}, 3, [](LocalRank& rank) {
    const auto& place = rank.place;
    const bool good = place.world == 3 && place.local_world == 3 &&
                      place.local_rank == place.rank && !place.mpi && place.rendezvous &&
                      place.rendezvous->host == "127.0.0.1" && rank.secret.size() == 64;
    return good && rank.listener.is_open() == (place.rank == 0) ? 0 : 10 + place.rank;
  });
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(end.notes, IsEmpty());
}

TEST(LocalTest, UsesTheSecretOfTheJob) {
  const auto end = run(
      {}, 2, [](LocalRank& rank) { return rank.secret == "of the job" ? 0 : 10; }, "of the job");
  EXPECT_EQ(end.status, 0);
}

TEST(LocalTest, NumbersTheRanksOfPodsInOrder) {
  const Place pod{.launcher = Launcher::torchrun,
                  .rank = 1,
                  .world = 2,
                  .rendezvous = Rendezvous{.host = "master", .port = 23456}};
  const auto end = run(pod, 2, [](LocalRank& rank) {
    const auto& place = rank.place;
    const bool good = place.world == 4 && place.rank == 2 + *place.local_rank &&
                      place.rendezvous == Rendezvous{"master", 23456} && !rank.listener.is_open() &&
                      rank.secret.empty();
    return good ? 0 : 10;
  });
  EXPECT_EQ(end.status, 0);
}

TEST(LocalTest, EndsWithTheStatusOfRankZero) {
  EXPECT_EQ(run({}, 2, [](LocalRank& rank) { return rank.place.rank == 0 ? 1 : 3; }).status, 1);
}

TEST(LocalTest, EndsWithTheWorstStatusIfRankZeroSucceeds) {
  EXPECT_EQ(run({}, 3, [](LocalRank& rank) { return rank.place.rank; }).status, 2);
}

TEST(LocalTest, ReportsAKilledRank) {
  const auto end = run({}, 2, [](LocalRank& rank) {
    if (rank.place.rank == 1) ::kill(::getpid(), SIGKILL);
    return 0;
  });
  EXPECT_EQ(end.status, 128 + SIGKILL);
  ASSERT_EQ(end.notes.size(), 1U);
  EXPECT_THAT(end.notes.front(), HasSubstr("rank 1 (pid "));
  EXPECT_THAT(end.notes.front(), HasSubstr("was killed by signal 9"));
}

TEST(LocalTest, KillsARankThatStaysStopped) {
  const auto end = run({}, 2, [](LocalRank& rank) {
    if (rank.place.rank == 1) ::raise(SIGSTOP);
    return 0;
  });
  EXPECT_EQ(end.status, 128 + SIGKILL);
  EXPECT_THAT(end.notes, ElementsAre(HasSubstr("was stopped, as by SIGSTOP, for 100 ms"),
                                     HasSubstr("was killed by signal 9")));
}

TEST(LocalTest, KillsARankThatDoesNotEndAfterAFailure) {
  const auto end = run({}, 2, [](LocalRank& rank) {
    if (rank.place.rank == 1) return 5;
    for (;;) ::pause();
  });
  EXPECT_EQ(end.status, 5);
  EXPECT_THAT(end.notes, ElementsAre(HasSubstr("did not end within 100 ms and was killed")));
}

TEST(LocalTest, DoesNotHurryAfterASuccess) {
  const auto end = run({}, 2, [](LocalRank& rank) {
    if (rank.place.rank == 1) std::this_thread::sleep_for(2 * kGrace);
    return 0;
  });
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(end.notes, IsEmpty());
}

// Lives in memory that parents and children share.
struct Shared {
  std::atomic<int> ready{0};
  std::atomic<int> told{0};
  std::array<std::atomic<pid_t>, 2> pids{};
};

Shared& shared_memory() {
  void* page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (page) Shared;
}

Shared* g_shared = nullptr;  // for the handler of a signal

// A supervisor in a separate process, with two ranks that wait for signals.
pid_t start_supervisor(Shared& shared) {
  g_shared = &shared;
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const auto end = run({}, 2, [&shared](LocalRank& rank) {
    [[maybe_unused]] const auto before = ::signal(SIGTERM, [](int /*number*/) {
      ++g_shared->told;
      ::_exit(7);
    });
    shared.pids.at(static_cast<std::size_t>(rank.place.rank)) = ::getpid();
    ++shared.ready;
    for (;;) ::pause();
    return 0;
  });
  ::_exit(end.status);
}

// An adoptive parent may not have reaped it yet.
bool is_zombie(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  return name_end != std::string::npos && line.substr(name_end + 2, 1) == "Z";
}

void wait_until(const std::function<bool()>& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(LocalTest, PassesSignalsOn) {
  auto& shared = shared_memory();
  const pid_t supervisor = start_supervisor(shared);
  wait_until([&] { return shared.ready == 2; });
  ::kill(supervisor, SIGTERM);
  int status = 0;
  ::waitpid(supervisor, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(shared.told, 2);
}

TEST(LocalTest, LeavesNoChildBehind) {
  auto& shared = shared_memory();
  const pid_t supervisor = start_supervisor(shared);
  wait_until([&] { return shared.ready == 2; });
  ::kill(supervisor, SIGKILL);
  ::waitpid(supervisor, nullptr, 0);
  for (const auto& pid : shared.pids) {
    wait_until([&] { return ::kill(pid, 0) != 0 || is_zombie(pid); });
  }
}

TEST(LocalCountTest, MustBePossibleUnderTheLauncher) {
  const Place by_mpirun{.launcher = Launcher::open_mpi, .world = 2, .mpi = true};
  const Place by_torchrun{.launcher = Launcher::torchrun, .world = 8, .local_world = 8};
  const auto why_not = [](const Place& place, int count) {
    return may_become(place, count).error().message;
  };
  EXPECT_THAT(why_not(by_mpirun, 2), HasSubstr("--local 2 contradicts the launcher (open_mpi)"));
  EXPECT_THAT(why_not(by_torchrun, 2), HasSubstr("--local 2 contradicts the launcher (torchrun)"));
}

}  // namespace
}  // namespace muster::bench
