// SPDX-License-Identifier: Apache-2.0
// What a job left on its GPUs is ended where the site says so, and nothing else is.
#include "slurm/commands/end_leftovers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

#include "slurm/commands/hook.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr unsigned kUser = 4711;

// Sleeps until it is killed.
class Sleeper {
 public:
  // Returns once the process is the user's.
  explicit Sleeper(unsigned user) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::setresuid(user, user, user) != 0) ::_exit(1);
      ::close(ends[0]);
      ::close(ends[1]);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char nothing = 0;
    EXPECT_EQ(::read(ends[0], &nothing, 1), 0);
    ::close(ends[0]);
  }

  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] unsigned pid() const { return static_cast<unsigned>(pid_); }

  [[nodiscard]] bool lives() const {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == 0;
  }

 private:
  ::pid_t pid_ = -1;
};

Clock::time_point soon() { return Clock::now() + std::chrono::milliseconds(500); }

class EndLeftoversTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  }
};

TEST_F(EndLeftoversTest, TheUsersProcessesEnd) {
  const Sleeper one(kUser);
  const Sleeper two(kUser);
  EXPECT_THAT(end_processes(kUser, {one.pid(), two.pid()}, Clock::now() + std::chrono::seconds(20)),
              UnorderedElementsAre(one.pid(), two.pid()));
  EXPECT_FALSE(one.lives());
}

// A number that was given anew.
TEST_F(EndLeftoversTest, SomebodyElsesProcessLives) {
  const Sleeper other(kUser + 1);
  const Sleeper root(0);
  EXPECT_THAT(end_processes(kUser, {other.pid(), root.pid()}, soon()), IsEmpty());
  EXPECT_THAT(end_processes(0, {root.pid()}, soon()), IsEmpty());
  EXPECT_TRUE(other.lives());
  EXPECT_TRUE(root.lives());
}

class EndingHookTest : public EndLeftoversTest {
 protected:
  // The first look finds the process, the next one a healthy node.
  void run(std::string_view context, std::string_view rules, bool dry_run = false) {
    slurm_.site(fmt::format("  memory: none\n  spread: 0 s\n{}", rules));
    looks_ = 0;
    const CheckNode check = [&](const HookCommand&, const std::string&, const Caller&, Deadline&) {
      CheckedNode node;
      node.boot_id = "boot";
      if (++looks_ == 1) {
        node.left_on_gpus = {{.pid = left_.pid(), .user = kUser}};
        node.report.verdict = Verdict::unhealthy;
        node.report.findings = {{.check = "gpu.processes",
                                 .device = "gpu0",
                                 .outcome = Outcome::fail,
                                 .message = "was left behind by job 1",
                                 .remedy = Remedy::restart_app}};
      }
      return Attempt<CheckedNode>(std::move(node));
    };
    auto caller = caller_.caller();
    caller.variables = {{"SLURMD_NODENAME", "n7"},
                        {"SLURM_CONF", (dir_.path() / "slurm.conf").string()},
                        {"SLURM_JOB_ID", "1"},
                        {"SLURM_JOB_UID", std::to_string(uid_)}};
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    const HookCommand command{.context = std::string(context),
                              .root = (dir_.path() / "root").string(),
                              .state = (dir_.path() / "state").string(),
                              .dry_run = dry_run};
    EXPECT_EQ(run_hook(command, caller, deadline, check), 0);
  }

  unsigned uid_ = kUser;
  int looks_ = 0;
  TempDir dir_{"/tmp"};
  FakeSlurm slurm_{dir_};
  TestCaller caller_;
  const Sleeper left_{kUser};
};

TEST_F(EndingHookTest, AnEpilogEndsItAndTheNodeStaysInService) {
  run("epilog", "  end_leftovers: true\n");
  EXPECT_FALSE(left_.lives());
  EXPECT_EQ(looks_, 2);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_THAT(caller_.out(),
              HasSubstr(fmt::format("ended process {} of user {}, which the job left on its GPUs",
                                    left_.pid(), kUser)));
}

TEST_F(EndingHookTest, WithoutTheSitesWordTheNodeIsDrained) {
  run("epilog", "");
  EXPECT_TRUE(left_.lives());
  EXPECT_THAT(slurm_.node(), HasSubstr("|drained|"));
}

TEST_F(EndingHookTest, NobodyIsEndedInADryRunInAPrologOrOfAnotherUser) {
  constexpr std::string_view kEnds = "  end_leftovers: true\n";
  run("epilog", kEnds, true);
  EXPECT_THAT(caller_.out(), HasSubstr("would end process "));
  run("periodic", kEnds);
  uid_ = kUser + 1;
  run("epilog", kEnds);
  EXPECT_TRUE(left_.lives());
}

}  // namespace
}  // namespace muster::app
