// SPDX-License-Identifier: Apache-2.0
// A FUSE file system that accepts requests and answers none, so that its callers cannot be killed:
// what muster reports, and what it leaves behind over many runs.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

#include "lib/base/descriptor.hpp"
#include "lib/probes/parse/parse.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

template <class Answer>
void answer(int device, std::uint64_t request, const Answer& body) {
  const fuse_out_header head{.len = sizeof head + sizeof body, .error = 0, .unique = request};
  std::array<char, sizeof head + sizeof body> bytes{};
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, &body, sizeof body);
  static_cast<void>(::write(device, bytes.data(), bytes.size()));
}

// The mount point itself can be opened; nothing else returns.
[[noreturn]] void serve(int device) {
  static std::array<char, 1UL << 20U> request{};
  while (::read(device, request.data(), request.size()) > 0) {
    fuse_in_header head{};
    std::memcpy(&head, request.data(), sizeof head);
    if (head.opcode == FUSE_INIT) {
      answer(device, head.unique,
             fuse_init_out{.major = 7, .minor = 31, .max_write = 1U << 17U, .time_gran = 1});
    } else if (head.opcode == FUSE_GETATTR) {
      answer(device, head.unique,
             fuse_attr_out{.attr_valid = 100, .attr = {.ino = 1, .mode = S_IFDIR | 0755U}});
    }
  }
  ::_exit(0);
}

// Mounted where only this process and its children see it. Unmounting wakes everything that hangs.
class HungFileSystem {
 public:
  HungFileSystem(const std::filesystem::path& point, unsigned user) {
    std::filesystem::create_directories(point);
    const Descriptor device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (device.get() < 0 || ::unshare(CLONE_NEWNS) != 0) return;
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    const auto options =
        fmt::format("fd={},rootmode=40000,user_id={},group_id=0,allow_other", device.get(), user);
    if (::mount("fuse", point.c_str(), "fuse", 0, options.c_str()) != 0) return;
    server_ = ::fork();
    if (server_ == 0) serve(device.get());
    point_ = point;
  }

  HungFileSystem(const HungFileSystem&) = delete;
  HungFileSystem& operator=(const HungFileSystem&) = delete;

  ~HungFileSystem() {
    if (server_ <= 0) return;
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
    ::umount2(point_.c_str(), MNT_DETACH);
  }

  [[nodiscard]] bool works() const { return server_ > 0; }

 private:
  std::filesystem::path point_;
  pid_t server_ = -1;
};

// The states of the threads of muster's children, by process. Only of those in this test's own
// mount namespace: other tests may run at the same time.
std::map<std::string, std::string> states_of_children() {
  const auto own = std::filesystem::read_symlink("/proc/self/ns/mnt");
  std::map<std::string, std::string> states;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator(entry.path() / "task", gone)) {
      std::ifstream file(task.path() / "stat");
      std::string line;
      std::getline(file, line);
      const auto stat = parse_process_stat(line);
      if (!stat || !stat->name.starts_with("muster:")) continue;
      if (std::filesystem::read_symlink(task.path() / "ns/mnt", gone) != own) continue;
      states[entry.path().filename()] += stat->state;
    }
  }
  return states;
}

// The number of children of muster in which a thread hangs. The first thread may have ended.
// Waits for those that are being killed to hang or end.
std::size_t left_behind() {
  constexpr int kTries = 1000;
  constexpr std::chrono::milliseconds kBetween{10};
  for (int i = 0; i < kTries; ++i) {
    const auto states = states_of_children();
    const bool settled = std::ranges::all_of(states, [](const auto& process) {
      return process.second.find_first_not_of("DZX") == std::string::npos;
    });
    if (settled) {
      return static_cast<std::size_t>(std::ranges::count_if(states, [](const auto& process) {
        return process.second.find('D') != std::string::npos;
      }));
    }
    std::this_thread::sleep_for(kBetween);
  }
  ADD_FAILURE() << "a child of muster neither hangs nor ends";
  return 0;
}

class HungMountTest : public ::testing::Test {
 protected:
  // The node shows it as mounted by `user`.
  void hang(unsigned user) {
    auto node = nodes::nd96isr_h100_v5();
    node.mounts.push_back({.source = "fuse",
                           .point = "/hung",
                           .type = "fuse",
                           .options = fmt::format("rw,user_id={},group_id=0,allow_other", user)});
    stage_.show(render(node));
    file_system_.emplace(stage_.root() / "hung", user);
  }

  [[nodiscard]] std::string check(std::string_view only, std::string_view more = {}) const {
    return output_of(
        fmt::format("MUSTER_DATA_DIR={}/configs {} check --root {} --profile nd96isr_h100_v5 "
                    "--state {} --only '{}' --deadline '10 s' {} 2>&1",
                    MUSTER_SOURCE_DIR, MUSTER_PROGRAM, stage_.root().string(),
                    state_.path().string(), only, more));
  }

  Stage stage_;
  TempDir state_;
  std::optional<HungFileSystem> file_system_;
};

TEST_F(HungMountTest, MountedByAUserWarnsAndLeavesNoMoreProcesses) {
  hang(1001);
  if (!file_system_->works()) GTEST_SKIP() << "no FUSE may be mounted here";
  EXPECT_THAT(check("host.mounts"),
              AllOf(HasSubstr("did not respond within 2 s; user 1001 mounted it"),
                    Not(HasSubstr("unhealthy"))));
  const auto after_one = left_behind();
  EXPECT_GT(after_one, 0U);
  constexpr int kRuns = 100;
  for (int i = 0; i < kRuns; ++i) {
    ASSERT_THAT(
        check("host.mounts,host.stuck_tasks"),
        AllOf(HasSubstr("not tried again; user 1001 mounted it"), Not(HasSubstr("unhealthy"))))
        << i;
  }
  EXPECT_LE(left_behind(), after_one);
}

TEST_F(HungMountTest, MountedByRootFailsAndIsNotTriedAgain) {
  hang(0);
  if (!file_system_->works()) GTEST_SKIP() << "no FUSE may be mounted here";
  EXPECT_THAT(check("host.mounts"), HasSubstr("did not respond within 2 s"));
  const auto after_one = left_behind();
  EXPECT_THAT(check("host.mounts"), AllOf(HasSubstr("not tried again"), HasSubstr("unhealthy")));
  EXPECT_LE(left_behind(), after_one);
}

// The driver's library is on it: opening it never returns.
TEST_F(HungMountTest, ADriverThatHangsIsNotCalledAgain) {
  hang(1001);
  if (!file_system_->works()) GTEST_SKIP() << "no FUSE may be mounted here";
  const auto nvml = fmt::format("--nvml {}/hung/libnvidia-ml.so.1", stage_.root().string());
  EXPECT_THAT(check("muster.probes,gpu.driver", nvml),
              HasSubstr("dlopen of NVML did not return within"));
  const auto after_one = left_behind();
  EXPECT_GT(after_one, 0U);
  EXPECT_THAT(check("muster.probes,gpu.driver", nvml),
              HasSubstr("not asked: a child of an earlier muster (pid "));
  EXPECT_LE(left_behind(), after_one);
}

}  // namespace
}  // namespace muster::e2e
