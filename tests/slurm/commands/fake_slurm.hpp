// SPDX-License-Identifier: Apache-2.0
// Fakes of Slurm's programs, which keep one line of sinfo in a file, a site that names them, and
// commands and hooks that run with both.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "checks/app/inspect.hpp"
#include "slurm/commands/hook.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/fake_sinfo.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {

// Another process, which holds the lock of a file from now on, for this long or until it is killed.
class LockHolder {
 public:
  explicit LockHolder(const std::filesystem::path& file, std::chrono::milliseconds time = {}) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const auto lock = try_lock(file);
      const bool ours = lock.holder == ProcessLock::Holder::ours;
      static_cast<void>(!::write(ready[1], ours ? "y" : "n", 1));
      if (time.count() == 0) ::pause();
      std::this_thread::sleep_for(time);
      ::_exit(0);
    }
    EXPECT_EQ(::read(ready[0], &is_ours_, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }

  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;

  ~LockHolder() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  // Whether it got the lock.
  [[nodiscard]] bool has_lock() const { return is_ours_ == 'y'; }

 private:
  ::pid_t process_ = -1;
  char is_ours_ = 0;
};

class FakeSlurm {
 public:
  // Node n7 is idle, on a host of that name.
  explicit FakeSlurm(const TempDir& dir) : dir_(dir) {
    dir_.write("slurm.conf", "");
    dir_.write("node", "n7|main|idle|Unknown|Unknown|none\n");
    dir_.write("names", "n7|n7\n");
    memory("");
    program("sinfo",
            "case \"$*\" in *'%N|%n'*) cat \"$D/names\" ;; *) paste \"$D/node\" \"$D/memory\" | "
            "fake_sinfo \"$@\" ;; esac");
    program("scontrol", kScontrol);
  }

  static constexpr std::string_view kScontrol = R"(node=${2#nodename=} line=
for word; do case $word in
  state=drain) line="drained|root|$(date +%s)|" ;;
  reason=*) line=$line${word#reason=} ;;
  state=resume) line="idle|Unknown|Unknown|none" ;;
  Extra=*) printf '%s\n' "${word#Extra=}" >"$D/memory" ;;
esac; done
[ -z "$line" ] || echo "$node|main|$line" >"$D/node")";

  // Writes the block `slurm` of the site below `root`, with these lines after its programs.
  void site(std::string_view rules) const {
    dir_.write("root/etc/muster/muster.yaml",
               fmt::format("schema: muster.site/1\nslurm:\n  programs: {}/bin\n{}",
                           dir_.path().string(), rules));
  }

  void nodes(std::string_view lines) const { dir_.write("node", lines); }

  void memory(std::string_view text) const { dir_.write("memory", fmt::format("{}\n", text)); }

  // NodeName|NodeHostname
  void names(std::string_view lines) const { dir_.write("names", lines); }

  // sinfo's line about the node.
  [[nodiscard]] std::string node() const { return dir_.read("node"); }

  void program(std::string_view name, std::string_view body) const {
    dir_.write_program(
        fmt::format("bin/{}", name),
        fmt::format("#!/bin/sh\nD={}\n{}{}\n", dir_.path().string(), kFakeSinfo, body));
  }

 private:
  const TempDir& dir_;
};

// Commands and hooks on node n7, whose files are below `root`.
class SlurmTest : public ::testing::Test {
 protected:
  SlurmTest() {
    dir_.write("root/proc/sys/kernel/hostname", "node-7\n");
    dir_.write("root/proc/uptime", "1000.00 2000.00\n");
  }

  [[nodiscard]] std::string path(std::string_view name) const { return dir_.path(name); }

  [[nodiscard]] std::string content(std::string_view name) const { return dir_.read(name); }

  // As slurmd starts a hook.
  [[nodiscard]] Caller caller() {
    auto caller = caller_.caller();
    caller.variables["SLURM_CONF"] = path("slurm.conf");
    caller.variables["SLURMD_NODENAME"] = "n7";
    return caller;
  }

  // `late`: how long it has been running.
  int hook(HookCommand command, const CheckNode& check = check_node, const SweepNode& sweep = {},
           std::chrono::milliseconds late = {}) {
    Deadline deadline(Clock::now() + std::chrono::seconds(60));
    command.root = path("root");
    command.state = path("state");
    auto caller = this->caller();
    caller.started -= late;
    return run_hook(command, caller, deadline, check, sweep);
  }

  // "kind context: message" of each event in the history.
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> found;
    const auto history = slurm::History::read(history_file(path("state")));
    if (!history) return found;
    for (const auto& event : history->events({}).value_or(std::vector<slurm::Event>())) {
      found.push_back(fmt::format("{} {}: {}", event.kind, event.context, event.message));
    }
    return found;
  }

  [[nodiscard]] bool is_drained() const {
    return slurm_.node().find("|drained|") != std::string::npos;
  }

  TempDir dir_;
  FakeSlurm slurm_{dir_};
  TestCaller caller_;
};

}  // namespace muster::app
