// SPDX-License-Identifier: Apache-2.0

#include "slurm/commands/slurm_site.hpp"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <syslog.h>

#include <chrono>

#include "lib/base/descriptor.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"

namespace muster::app {
namespace {

TEST(ProcessLockTest, IsOursIfItIsFree) {
  const TempDir dir;
  EXPECT_EQ(try_lock(dir.path() / "lock").holder, ProcessLock::Holder::ours);
}

// In a folder that others can write to, a link could lead to any of root's files.
TEST(ProcessLockTest, DoesNotFollowALink) {
  const TempDir dir;
  dir.link("lock", "elsewhere");
  EXPECT_EQ(try_lock(dir.path() / "lock").holder, ProcessLock::Holder::unknown);
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "elsewhere"));
}

namespace fs = std::filesystem;

class Syslog {
 public:
  Syslog(int type, std::string file)
      : file_(std::move(file)), socket_(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    file_.copy(static_cast<char*>(address.sun_path), file_.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(::listen(socket_.get(), 1), 0);
    }
  }

  [[nodiscard]] const std::string& file() const { return file_; }

  [[nodiscard]] int socket() const { return socket_.get(); }

  [[nodiscard]] static std::string message_at(int socket) {
    std::array<char, 4096> text{};
    const auto got = ::recv(socket, text.data(), text.size(), 0);
    return {text.data(), static_cast<std::size_t>(got < 0 ? 0 : got)};
  }

  // Fills its queue, as if syslogd had stopped.
  void fill() const {
    constexpr int kFarMoreThanAQueueHolds = 100'000;
    int sent = 0;
    while (sent < kFarMoreThanAQueueHolds && write_syslog(file_, LOG_NOTICE, "full")) ++sent;
    EXPECT_LT(sent, kFarMoreThanAQueueHolds);
  }

 private:
  std::string file_;
  Descriptor socket_;
};

TEST(SyslogTest, NamesTheSenderAndThePriority) {
  const TempDir dir;
  const Syslog syslog(SOCK_DGRAM, dir.path() / "log");
  EXPECT_TRUE(write_syslog(syslog.file(), LOG_WARNING, "n1 is sick"));
  EXPECT_EQ(Syslog::message_at(syslog.socket()),
            fmt::format("<28>muster[{}]: n1 is sick", ::getpid()));
}

TEST(SyslogTest, SendsToASyslogThatListensForConnections) {
  const TempDir dir;
  const Syslog syslog(SOCK_STREAM, dir.path() / "log");
  EXPECT_TRUE(write_syslog(syslog.file(), LOG_NOTICE, "n1 is well"));
  const Descriptor peer(::accept(syslog.socket(), nullptr, nullptr));
  EXPECT_EQ(Syslog::message_at(peer.get()),
            fmt::format("<29>muster[{}]: n1 is well", ::getpid()) + '\0');
}

TEST(SyslogTest, WorksWithoutASyslogOrWithOneThatNeverReads) {
  const TempDir dir;
  EXPECT_FALSE(write_syslog(dir.path() / "none", LOG_NOTICE, "text"));
  EXPECT_FALSE(write_syslog(std::string(200, 'x'), LOG_NOTICE, "text"));
  Syslog(SOCK_DGRAM, dir.path() / "log").fill();
}

TEST(JournalTest, GetsTheFieldsOfAnEvent) {
  const TempDir dir;
  const Syslog journal(SOCK_DGRAM, dir.path() / "journal");
  const slurm::Event event{.node = "n1",
                           .kind = "drained",
                           .context = "periodic",
                           .check = "gpu.temperature",
                           .device = "gpu3",
                           .message = "too hot\nPRIORITY=0",
                           .reason = "muster: gpu.temperature"};
  EXPECT_TRUE(write_journal(journal.file(), LOG_WARNING, event, "1650"));
  EXPECT_EQ(Syslog::message_at(journal.socket()),
            "MESSAGE=drained n1: too hot\\x0aPRIORITY=0\n"
            "PRIORITY=4\n"
            "SYSLOG_IDENTIFIER=muster\n"
            "MESSAGE_ID=c4a1f6e20b5d4f3e9d7a52b86e10f301\n"
            "MUSTER_KIND=drained\n"
            "MUSTER_NODE=n1\n"
            "MUSTER_CONTEXT=periodic\n"
            "MUSTER_CHECK=gpu.temperature\n"
            "MUSTER_DEVICE=gpu3\n"
            "MUSTER_SERIAL=1650\n"
            "MUSTER_REASON=muster: gpu.temperature\n");
}

TEST(JournalTest, LeavesOutWhatAnEventLacks) {
  const TempDir dir;
  const Syslog journal(SOCK_DGRAM, dir.path() / "journal");
  EXPECT_TRUE(write_journal(journal.file(), LOG_NOTICE,
                            {.node = "n1", .kind = "of_a_later_version", .message = "x"}, ""));
  EXPECT_EQ(Syslog::message_at(journal.socket()),
            "MESSAGE=of_a_later_version n1: x\nPRIORITY=5\nSYSLOG_IDENTIFIER=muster\n"
            "MUSTER_KIND=of_a_later_version\nMUSTER_NODE=n1\n");
  EXPECT_FALSE(write_journal(dir.path() / "none", LOG_NOTICE, {}, ""));
  EXPECT_FALSE(write_journal(std::string(200, 'x'), LOG_NOTICE, {}, ""));
}

// A folder, and where the hook sees it.
struct BoundFolder {
  std::string folder, place;
};

// Runs a hook in its own mount namespace; 99 if there can be none.
int run_hook_with(const std::vector<BoundFolder>& folders, const TempDir& dir,
                  const std::string& context) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool moved = ::unshare(CLONE_NEWNS) == 0 &&
                 ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    for (const auto& [folder, place] : folders) {
      moved =
          moved && ::mount(folder.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
    }
    if (!moved) ::_exit(99);
    const auto root = dir.path("root");
    const auto state = dir.path("state");
    ::setenv("SLURM_CONF", (dir.path() / "slurm.conf").c_str(), 1);
    ::execl(MUSTER_PROGRAM, "muster", "hook", context.c_str(), "--root", root.c_str(), "--state",
            state.c_str(), nullptr);
    ::_exit(98);
  }
  constexpr auto kFarBeyondAnyBudget = std::chrono::seconds(120);
  const auto until = std::chrono::steady_clock::now() + kFarBeyondAnyBudget;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= until) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(JournalTest, GetsTheEventsOfAHook) {
  if (::geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  const TempDir dir;
  const FakeSlurm slurm(dir);
  slurm.site("  no_such_key: 1\n");  // trouble
  const auto run = dir.path() / "run";
  fs::create_directories(run / "systemd/journal");
  const Syslog journal(SOCK_DGRAM, run / "systemd/journal/socket");
  const int status = run_hook_with({{run.string(), "/run"}}, dir, "periodic");
  if (status == 99) GTEST_SKIP() << "no mount namespace can be made here";
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Syslog::message_at(journal.socket()),
              ::testing::HasSubstr("\nMUSTER_KIND=trouble\n"));
}

class DeadSyslogTest : public ::testing::TestWithParam<std::string> {};

TEST_P(DeadSyslogTest, EveryHookEnds) {
  if (::geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  const TempDir dir;
  const FakeSlurm slurm(dir);
  slurm.site("  no_such_key: 1\n");  // trouble, which goes to syslog
  fs::create_directories(dir.path() / "dev/shm");
  EXPECT_EQ(::mknod((dir.path() / "dev/null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  const Syslog syslog(SOCK_DGRAM, dir.path() / "dev/log");
  syslog.fill();
  const auto dev = dir.path("dev");
  // The test's own folder may be in /dev/shm.
  const int status =
      run_hook_with({{"/dev/shm", fmt::format("{}/shm", dev)}, {dev, "/dev"}}, dir, GetParam());
  if (status == 99) GTEST_SKIP() << "no mount namespace can be made here";
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Each, DeadSyslogTest,
                         ::testing::Values("prolog", "epilog", "periodic", "boot"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace muster::app
