// SPDX-License-Identifier: Apache-2.0

#include "slurm/commands/hook.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"
#include "repair/evidence.hpp"
#include "slurm/drains/enforce.hpp"
#include "slurm/policy/node_memory.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"

namespace muster::app {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using testing::ElementsAre;

constexpr std::string_view kReason = "muster: host.memory_available: 1 of 64 GiB; watch it";

class HookDrainedTest : public SlurmTest {
 protected:
  HookDrainedTest() {
    set_available("32000000");
    slurm_.site("  spread: 0 s\n  clean_runs: 2\n");
    slurm_.nodes(fmt::format("n7|main|drained|root|1795326230|{}\n", kReason));
    const slurm::NodeMemory memory{.check = "host.memory_available",
                                   .remedy = Remedy::watch,
                                   .at = wall_time() - std::chrono::minutes(10),
                                   .settled = true,
                                   .reason = slurm::short_hash(kReason)};
    slurm_.memory(to_text(memory));
  }

  void set_available(std::string_view kib) const {
    dir_.write("root/proc/meminfo",
               fmt::format("MemTotal: 64000000 kB\nMemAvailable: {} kB\nSwapTotal: 0 kB\n", kib));
  }

  // The context runs only host.swap of the two checks.
  void health_check(const std::vector<std::string>& more = {}) {
    HookCommand command{.context = "periodic",
                        .profile = "generic",
                        .settings = {"contexts.periodic.run=[host.swap]", "host.swap.total=0 B"}};
    command.settings.insert(command.settings.end(), more.begin(), more.end());
    EXPECT_EQ(hook(std::move(command)), 0);
  }
};

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutEndsItsDrain) {
  health_check();
  EXPECT_TRUE(is_drained());
  health_check();
  EXPECT_FALSE(is_drained());
  EXPECT_THAT(events(),
              ElementsAre("kept periodic: host.memory_available: clean run 1 of 2",
                          "resumed periodic: clean run 2 of 2: host.memory_available passes"));
}

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutKeepsItsDrain) {
  set_available("640000");
  for (int i = 0; i < 3; ++i) health_check();
  EXPECT_THAT(events(), ElementsAre("kept periodic: host.memory_available warns"));
  set_available("32000000");
  health_check();
  EXPECT_TRUE(is_drained());
}

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutDrainsNoNodeInService) {
  set_available("640000");
  slurm_.nodes("n7|main|allocated|Unknown|Unknown|none\n");
  for (int i = 0; i < 3; ++i) health_check({"host.memory_available.warn_as=fail"});
  EXPECT_FALSE(is_drained());
  EXPECT_THAT(events(), ElementsAre("released periodic: the node was resumed, but not by muster"));
}

TEST_F(HookDrainedTest, ADrainStartsTheCollectionOfEvidenceOnceAndDoesNotWait) {
  slurm_.site("  spread: 0 s\nrepair:\n  evidence: true\n");
  slurm_.program("muster", "echo $$ \"$@\" >>\"$D/evidence\"; exec sleep 100");
  const AfterHook after = [&](const HookCommand& command, const HookedNode& node) {
    if (!node.was_drained) return;
    const auto started =
        start_evidence(command.root, node.name, caller().variables, path("bin/muster"));
    EXPECT_TRUE(started) << started.error().message;
  };
  const auto check = [&](bool dry_run) {
    Deadline deadline(Clock::now() + 60s);
    EXPECT_EQ(run_hook({.context = "periodic",
                        .profile = "generic",
                        .settings = {"contexts.periodic.run=[host.swap]", "host.swap.total=8 GiB",
                                     "host.swap.warn_as=fail"},
                        .root = path("root"),
                        .state = path("state"),
                        .dry_run = dry_run},
                       caller(), deadline, check_node, {}, after),
              0);
  };
  slurm_.nodes("n7|main|idle|Unknown|Unknown|none\n");
  slurm_.memory("");
  const auto begin = Clock::now();
  check(true);
  for (int i = 0; i < 2; ++i) check(false);
  EXPECT_LT(Clock::now() - begin, 50s);
  ASSERT_TRUE(is_drained()) << caller_.out();
  for (int i = 0; i < 2000 && content("evidence").empty(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(content("evidence").substr(content("evidence").find(' ')),
            fmt::format(" evidence --node n7 --root {}\n", path("root")));
  ::kill(std::stoi(content("evidence")), SIGKILL);
}

TEST_F(HookDrainedTest, ADrainOfADisabledCheckWaitsForAnAdmin) {
  for (int i = 0; i < 3; ++i) health_check({"host.memory_available.enabled=false"});
  EXPECT_TRUE(is_drained());
  EXPECT_THAT(
      events(),
      ElementsAre("kept periodic: context periodic did not run host.memory_available: drained "
                  "until an admin runs muster resume n7"));
}

TEST_F(HookDrainedTest, WritesTheMetricsOfEachRunToTheSitesFile) {
  dir_.write("root/metrics/.keep", "");
  slurm_.site("  spread: 0 s\n  metrics: {file: /metrics/muster.prom}\n");
  health_check();
  EXPECT_THAT(
      content("root/metrics/muster.prom"),
      testing::AllOf(testing::HasSubstr("\nmuster_verdict{context=\"periodic\"} 0\n"),
                     testing::HasSubstr("\nmuster_check_outcome{context=\"periodic\",check=\"host."
                                        "swap\"} 0\n")));
  health_check({"host.swap.fail_as=fail", "host.swap.warn_as=fail", "host.swap.total=1 GiB"});
  EXPECT_THAT(content("root/metrics/muster.prom"),
              testing::HasSubstr("\nmuster_verdict{context=\"periodic\"} 3\n"));
}

TEST_F(HookDrainedTest, ReportsMetricsThatCannotBeWrittenOnce) {
  slurm_.site("  spread: 0 s\n  metrics: {file: /none/muster.prom}\n");
  for (int i = 0; i < 3; ++i) health_check();
  EXPECT_THAT(events(), testing::Contains(testing::HasSubstr("muster.prom")).Times(1));
}

constexpr std::string_view kIdle = "idle\n\n\n";

// One node, in a file: its state, its reason, and its memory.
class FileController final : public slurm::Controller {
 public:
  explicit FileController(std::filesystem::path file) : file_(std::move(file)) {}

  Result<std::vector<slurm::NodeState>> nodes(std::string_view /*node*/) override {
    const Descriptor locked = lock();
    std::ifstream in(file_);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto lines = split_lines(text);
    if (lines.size() < 3) return make_error("no lines");
    return std::vector<slurm::NodeState>{{.name = "n1",
                                          .partitions = {"main"},
                                          .state = std::string(lines[0]),
                                          .reason = std::string(lines[1]),
                                          .user = lines[1].empty() ? "" : "root",
                                          .memory = std::string(lines[2])}};
  }

  Result<std::vector<slurm::NodeName>> names() override { return make_error("not asked"); }

  Result<void> drain(std::string_view /*node*/, std::string_view reason,
                     std::optional<std::string> memory) override {
    return write(fmt::format("drained\n{}\n{}\n", reason, memory.value_or("")));
  }

  Result<void> resume(std::string_view /*node*/, std::optional<std::string> memory) override {
    return write(fmt::format("idle\n\n{}\n", memory.value_or("")));
  }

  Result<void> remember(std::string_view node, std::string_view memory) override {
    auto now = nodes(node).value().front();
    return write(fmt::format("{}\n{}\n{}\n", now.state, now.reason, memory));
  }

  Result<void> write(const std::string& text) {
    const Descriptor locked = lock();
    std::ofstream(file_) << text;
    return {};
  }

 private:
  [[nodiscard]] Descriptor lock() const {
    Descriptor locked(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    static_cast<void>(::flock(locked.get(), LOCK_EX));
    return locked;
  }

  std::filesystem::path file_;
};

class HookRaceTest : public ::testing::Test {
 protected:
  HookRaceTest() {
    ok_ = static_cast<bool>(slurm::History::open(file_));
    static_cast<void>(slurm_.write(std::string(kIdle)));
  }

  static Report report(bool sick, std::string_view context) {
    Report report{.context = std::string(context),
                  .verdict = sick ? Verdict::unhealthy : Verdict::healthy,
                  .checks = {{"host.limits", sick ? Outcome::fail : Outcome::pass}},
                  .findings = {}};
    if (sick) {
      report.findings.push_back({.check = "host.limits",
                                 .device = "node",
                                 .outcome = Outcome::fail,
                                 .message = "64 KiB",
                                 .remedy = Remedy::fix_config});
    }
    return report;
  }

  void hook(bool sick, std::string_view context) const {
    const auto found = report(sick, context);
    slurm::HookRequest order{.report = &found,
                             .node = "n1",
                             .context = std::string(context),
                             .boot_id = "boot-1",
                             .identity = "GPU-1"};
    order.rules.clean_runs = 1;
    order.rules.flaps = 1000;
    auto history = slurm::History::open(file_);
    FileController controller(dir_.path() / "node");
    ProcessLock lock;
    const auto exclude_others = [&]() -> std::string {
      lock = wait_for_lock(dir_.path() / "node.lock", Clock::now() + 60s);
      return lock.holder == ProcessLock::Holder::ours ? "" : "no lock";
    };
    static_cast<void>(slurm::enforce(
        order,
        {.controller = &controller,
         .trouble = "",
         .history = history ? &*history : nullptr,
         .last_look = &look_,
         .now = wall_time,
         .sleep = [](std::chrono::milliseconds) { std::this_thread::sleep_for(5ms); },
         .tell = [](const slurm::Event&) {},
         .exclude_others = with_lock_ ? std::function<std::string()>(exclude_others) : nullptr}));
  }

  // Runs this many at once, each in its own process.
  void hooks(int number, bool sick, std::string_view context) const {
    std::vector<pid_t> children;
    for (int i = 0; i < number; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        hook(sick, context);
        ::_exit(0);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = -1;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
  }

  [[nodiscard]] slurm::NodeState node() { return slurm_.nodes("").value().front(); }

  // An admin resumes the sick node, several prologs find it sick, and it gets well.
  int rounds(int number) {
    int good = 0;
    hooks(1, true, "prolog");
    for (int i = 0; i < number; ++i) {
      static_cast<void>(slurm_.write(std::string(kIdle)));
      hooks(6, true, "prolog");
      bool is_good = slurm::own_drain(node()).has_value();
      hooks(2, false, "periodic");
      is_good = is_good && node().state == "idle";
      hooks(1, true, "prolog");
      good += is_good ? 1 : 0;
    }
    return good;
  }

  TempDir dir_;
  std::filesystem::path file_ = dir_.path() / "events.jsonl";
  slurm::LastLook look_{dir_.path(), "n1"};
  FileController slurm_{dir_.path() / "node"};
  bool ok_ = false;
  bool with_lock_ = true;
};

TEST_F(HookRaceTest, NoDrainIsLostInAnyRound) {
  ASSERT_TRUE(ok_);
  EXPECT_EQ(rounds(50), 50);
}

// Without the lock a drain may be late, but none is lost.
TEST_F(HookRaceTest, WithoutTheLockNoDrainIsLostForGood) {
  ASSERT_TRUE(ok_);
  with_lock_ = false;
  static_cast<void>(rounds(10));
  for (int i = 0; i < 5; ++i) hook(false, "periodic");
  hooks(1, true, "periodic");
  for (int i = 0; i < 5; ++i) hook(false, "periodic");
  EXPECT_EQ(node().state, "idle");
}

// One that hangs keeps the others no longer than they can wait.
TEST_F(HookRaceTest, WaitsForAnotherHookForALimitedTime) {
  const auto file = dir_.path() / "node.lock";
  {
    const LockHolder holder(file);
    EXPECT_EQ(wait_for_lock(file, Clock::now() + 50ms).holder, ProcessLock::Holder::others);
  }
  EXPECT_EQ(wait_for_lock(file, Clock::now() + 60s).holder, ProcessLock::Holder::ours);
}

TEST_F(HookRaceTest, HoldsALockThatItHadToWaitFor) {
  const auto file = dir_.path() / "node.lock";
  const LockHolder first(file, 100ms);
  const auto lock = wait_for_lock(file, Clock::now() + 60s);
  EXPECT_EQ(lock.holder, ProcessLock::Holder::ours);
  EXPECT_FALSE(LockHolder(file).has_lock());
}

}  // namespace
}  // namespace muster::app
