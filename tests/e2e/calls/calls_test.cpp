// SPDX-License-Identifier: Apache-2.0
// Makes each system call of every hook, `muster check` and `muster snapshot` fail, be interrupted,
// or never return, one at a time. The run must end in time with the right status, hold no pipe,
// leave no process behind and keep its state intact. These tests sample the calls;
// `tools/call-faults.sh` tries all of them and prints the table.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"
#include "lib/state/state.hpp"
#include "slurm/history/history.hpp"
#include "tests/e2e/calls/tracer.hpp"
#include "tests/nodes/node.hpp"
#include "tests/nodes/render.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kRuns{"check",  "output",   "snapshot", "prolog",
                                                "epilog", "periodic", "boot"};

bool is_hook(std::string_view run) {
  return run != "check" && run != "output" && run != "snapshot";
}

bool is_sick(std::string_view run) { return run == "prolog" || run == "periodic"; }

// A small node with Slurm's programs. Prolog and health check find a degraded disk array and drain
// the node.
class Scene {
 public:
  explicit Scene(std::string_view run, CallFault fault = CallFault::none)
      : run_(run), fault_(fault), slurm_(dir_) {
    auto node = nodes::laptop();
    node.cpus.resize(2);
    if (is_sick(run)) {
      node.raid = {{.name = "md0", .level = "raid1", .state = "clean", .disks = 2, .degraded = 1}};
    }
    EXPECT_TRUE(write_tree(nodes::render(node), dir_.path() / "root"));
    slurm_.site(
        fmt::format("  prolog_budget: {0}\n  epilog_budget: {0}\n  health_budget: {0}\n"
                    "  spread: 0 s\n  most_drained: 100%\n",
                    budget()));
    idle_ = slurm_.node();
    fs::create_directories(output());
  }

  [[nodiscard]] TracedRun trace(const FaultyCall& fault = {}) const {
    fs::remove_all(state());
    fs::remove_all(output());
    fs::create_directories(output());
    slurm_.nodes(idle_);
    auto run = e2e::trace(words(),
                          {{"SLURMD_NODENAME", "n7"},
                           {"SLURM_JOB_ID", "4711"},
                           {"SLURM_CONF", dir_.path("slurm.conf")}},
                          fault);
    judge(run);
    return run;
  }

  [[nodiscard]] std::vector<std::string> words() const {
    std::vector<std::string> words{MUSTER_PROGRAM};
    if (is_hook(run_)) {
      words.insert(words.end(), {"hook", run_});
    } else {
      words.insert(words.end(),
                   {run_ == "snapshot" ? "snapshot" : "check", "--deadline", budget()});
      if (run_ != "check") words.insert(words.end(), {"--output", (output() / "file").string()});
    }
    words.insert(words.end(), {"--profile", "generic", "--root", dir_.path("root"), "--state",
                               state().string()});
    return words;
  }

 private:
  // A short limit for calls that never return. Other runs must not be late even on a busy machine.
  [[nodiscard]] std::string budget() const {
    return fault_ == CallFault::never_returns ? "3s" : "30s";
  }

  [[nodiscard]] fs::path state() const { return dir_.path() / "state"; }

  // The folder of --output.
  [[nodiscard]] fs::path output() const { return dir_.path() / "output"; }

  void judge(TracedRun& run) const {
    const bool drained = slurm_.node().find("drained") != std::string::npos;
    const auto right = is_hook(run_) ? std::set{0, 1} : std::set{0, 1, 2, 78};
    if (!right.contains(run.status)) {
      run.troubles.push_back(fmt::format("it ends with {}", run.status));
    }
    const bool hangs = fault_ == CallFault::never_returns;
    if (run.status == 1 && (is_hook(run_) ? !(run_ == "prolog" && drained) : !hangs)) {
      run.troubles.emplace_back("a node that was not drained is unfit");
    }
    if (drained && !is_sick(run_) && !hangs) run.troubles.emplace_back("a sound node is drained");
    for (const auto& entry : fs::directory_iterator(output())) {
      if (!hangs && entry.path().filename() != "file")
        run.troubles.emplace_back("half a file is left");
    }
    judge_state(run, hangs);
  }

  void judge_state(TracedRun& run, bool hangs) const {
    std::error_code none;
    if (!fs::exists(state(), none)) return;
    for (const auto& entry : fs::directory_iterator(state())) {
      const auto name = entry.path().filename().string();
      if (name.find(".bad") != std::string::npos || name.find(".corrupt") != std::string::npos) {
        run.troubles.push_back(fmt::format("{} was put aside", name));
      }
      if (!hangs && name.starts_with("state.json.") && name != "state.json.lock") {
        run.troubles.push_back(fmt::format("{} is left", name));
      }
    }
    const auto earlier = read_state(state() / "state.json", "any");
    if (earlier.note.find("cannot be used") != std::string::npos) {
      run.troubles.push_back(earlier.note);
    }
    const auto history = slurm::History::open(state() / "events.jsonl");
    const auto events = history ? history->events({}) : make_error(history.error().message);
    if (!events) run.troubles.push_back(events.error().message);
  }

  std::string run_;
  CallFault fault_;
  TempDir dir_;
  app::FakeSlurm slurm_;
  std::string idle_;
};

// One line of the table.
struct Row {
  std::uint64_t tried = 0;
  std::uint64_t spoilt = 0;
  std::map<int, std::uint64_t> statuses;
  std::uint64_t slowest_ms = 0;
};

struct Table {
  std::map<std::string, Row> rows;  // "prolog EIO"
  std::vector<std::string> troubles;
};

// Runs `work` in a child process that sees only its own processes, if that is allowed: muster looks
// at every process that it sees, and a tracer waits for all of them.
template <class Work>
pid_t start_alone(const Work& work) {
  const pid_t outside = ::fork();
  if (outside != 0) return outside;
  const bool alone = ::unshare(CLONE_NEWPID | CLONE_NEWNS) == 0;
  const pid_t inside = ::fork();
  if (inside == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (alone && (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                  ::mount("proc", "/proc", "proc", 0, nullptr) != 0)) {
      ::_exit(1);
    }
    work();
    ::_exit(0);
  }
  ::waitpid(inside, nullptr, 0);
  ::_exit(0);
}

// Appends a line for each call to `file`.
void try_calls(std::string_view run, const std::vector<FaultyCall>& calls, const fs::path& file) {
  const Scene scene(run, calls.front().fault);
  const Descriptor lines(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  for (const auto& call : calls) {
    const auto traced = scene.trace(call);
    std::string troubles;
    for (const auto& each : traced.troubles) troubles += fmt::format("{}; ", printable(each));
    static_cast<void>(write_all(
        lines.get(),
        fmt::format("{}|{}|{}:{}|{}|{}|{}|{}\n", run,
                    kCallFaultNames[static_cast<std::size_t>(call.fault)], call.process,
                    call.number, traced.call, traced.status, traced.took.count(), troubles)));
  }
}

void read_lines(const fs::path& file, Table& table) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto fields = split(line, '|');
    if (fields.size() < 7) continue;
    auto& row = table.rows[fmt::format("{:<9} {}", fields[0], fields[1])];
    ++row.tried;
    if (!fields[6].empty()) table.troubles.push_back(line);
    if (fields[3].empty()) continue;
    ++row.spoilt;
    ++row.statuses[std::atoi(std::string(fields[4]).c_str())];
    row.slowest_ms = std::max(row.slowest_ms, parse_unsigned(fields[5]).value_or(0));
  }
}

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? otherwise : parse_unsigned(value).value_or(otherwise);
}

// Those of a run without a fault.
std::vector<FaultyCall> possible_faults(std::string_view run) {
  const TempDir dir;
  ::waitpid(start_alone([&] {
              const auto traced = Scene(run).trace();
              std::ofstream file(dir.path() / "possible");
              for (const auto& each : traced.troubles) file << "trouble|" << each << "|0\n";
              for (const auto& [fault, process, number] : traced.possible) {
                file << fmt::format("{}|{}|{}\n", static_cast<int>(fault), process, number);
              }
            }),
            nullptr, 0);
  std::vector<FaultyCall> possible;
  std::ifstream file(dir.path() / "possible");
  for (std::string line; std::getline(file, line);) {
    const auto fields = split(line, '|');
    const auto fault = parse_unsigned(fields.front());
    if (!fault) ADD_FAILURE() << run << ": " << line;
    possible.push_back({static_cast<CallFault>(fault.value_or(0)), std::string(fields[1]),
                        parse_unsigned(fields[2]).value_or(0)});
  }
  EXPECT_FALSE(possible.empty());
  return possible;
}

// Every `step`-th call that can have the fault, by default with a different start for each fault.
void fill(Table& table, std::string_view run, const std::vector<FaultyCall>& possible,
          CallFault fault, std::uint64_t step) {
  // Runs with a hanging call mostly wait for deadlines.
  const std::size_t workers = fault == CallFault::never_returns ? 8 : is_sick(run) ? 4 : 2;
  std::vector<std::vector<FaultyCall>> shares(workers);
  std::size_t next = 0;
  auto skip = number_from("MUSTER_CALL_START", static_cast<std::uint64_t>(fault) * 37) % step;
  for (const auto& call : possible) {
    if (call.fault != fault || skip-- != 0) continue;
    shares[next++ % workers].push_back(call);
    skip = step - 1;
  }
  const TempDir dir;
  std::vector<pid_t> children;
  for (const auto& share : shares) {
    if (share.empty()) continue;
    children.push_back(start_alone([&] { try_calls(run, share, dir.path() / "lines"); }));
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  read_lines(dir.path() / "lines", table);
  EXPECT_EQ(
      table.rows[fmt::format("{:<9} {}", run, kCallFaultNames[static_cast<std::size_t>(fault)])]
          .tried,
      next)
      << "a tracer did not come to its end";
}

void print(const Table& table) {
  fmt::print("{:<24} {:>6} {:>7} {:>11}  statuses\n", "run and fault", "calls", "spoilt",
             "slowest");
  for (const auto& [name, row] : table.rows) {
    std::string statuses;
    for (const auto& [status, count] : row.statuses)
      statuses += fmt::format(" {}:{}", status, count);
    fmt::print("{:<24} {:>6} {:>7} {:>8} ms {}\n", name, row.tried, row.spoilt, row.slowest_ms,
               statuses);
  }
  for (const auto& trouble : table.troubles) fmt::print("TROUBLE {}\n", trouble);
}

// Runs in a PID namespace whose PID 1 waits for no other process. Returns 0 if nothing is left of
// the run.
int run_below_careless_pid_1(const std::vector<std::string>& words) {
  constexpr int kNoNamespace = 99;
  const pid_t outside = ::fork();
  if (outside == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(kNoNamespace);
    const pid_t first = ::fork();
    if (first == 0) {
      const pid_t run = ::fork();
      if (run == 0) {
        std::vector<char*> arguments;
        for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        ::setenv("SLURMD_NODENAME", "n7", 1);
        ::execv(arguments.front(), arguments.data());
        ::_exit(127);
      }
      int status = 0;
      ::waitpid(run, &status, 0);
      siginfo_t left{};
      const bool no_child = ::waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) == -1;
      ::_exit(no_child && WIFEXITED(status) && WEXITSTATUS(status) < 3 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(first, &status, 0);
    ::_exit(WEXITSTATUS(status));
  }
  int status = 0;
  ::waitpid(outside, &status, 0);
  return WEXITSTATUS(status);
}

class ZombieTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ZombieTest, NoneIsLeftIfPid1DoesNotReap) {
  const Scene scene(GetParam());
  for (int i = 0; i < 5; ++i) {
    const int status = run_below_careless_pid_1(scene.words());
    if (status == 99) GTEST_SKIP() << "a process namespace cannot be made here";
    EXPECT_EQ(status, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ZombieTest, ::testing::ValuesIn(kRuns),
                         [](const auto& one) { return std::string(one.param); });

// Without a note from an earlier run that something hangs, all processes are scanned: once, not by
// each probe.
TEST(LeftBehindTest, ProcessesAreScannedOncePerRun) {
#ifndef __x86_64__
  GTEST_SKIP() << "calls are counted on x86-64 alone";
#endif
  const Scene scene("check");
  const auto without_state = scene.trace().calls;
  const auto with_state = trace(scene.words(), {}, {}).calls;
  const auto processes = static_cast<std::uint64_t>(
      std::ranges::count_if(fs::directory_iterator("/proc"), [](const fs::directory_entry& entry) {
        return parse_unsigned(entry.path().filename().string()).has_value();
      }));
  constexpr std::uint64_t kProbes = 16;
  EXPECT_LT(without_state, with_state + kProbes * processes);
}

class CallFaultTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(CallFaultTest, CostsNoMoreThanTheRun) {
#ifndef __x86_64__
  GTEST_SKIP() << "calls are spoilt on x86-64 alone";
#endif
  constexpr std::uint64_t kSome = 97;  // a prime, so that no loop is in step with it
  const auto step = number_from("MUSTER_CALL_STEP", kSome);
  Table table;
  const auto possible = possible_faults(GetParam());
  for (const auto fault : kCallFaults) fill(table, GetParam(), possible, fault, step);
  print(table);
  EXPECT_TRUE(table.troubles.empty());
}

INSTANTIATE_TEST_SUITE_P(Each, CallFaultTest, ::testing::ValuesIn(kRuns),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace muster::e2e
