// SPDX-License-Identifier: Apache-2.0
// Facts about load and tasks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Task {
  std::uint64_t pid = 0;
  std::string name;
  std::uint64_t start_ticks = 0;  // since boot: with the pid it identifies the task
  std::uint64_t parent = 0;
  Fact<std::uint64_t> user;      // real user id
  Fact<std::uint64_t> switches;  // of D state only: it moves when the task wakes up
  Fact<std::string> waits_in;    // of D state only: a function of the kernel
  bool of_muster = false;        // a child that an earlier run had to leave behind
  Fact<double> stuck_since_s;    // uptime at which an earlier run saw it so already
  Fact<double> awake_at_s;       // uptime of the run before that one, which did not

  MUSTER_FIELDS(
      Task,
      MUSTER_FIELD(pid, "process id"),
      MUSTER_FIELD(name, "comm"),
      MUSTER_FIELD(start_ticks, "start time in clock ticks since boot"),
      MUSTER_FIELD(parent, "pid of the parent"),
      MUSTER_FIELD(
          switches,
          "context switches of both kinds, of a task in D state: they move when it wakes up"),
      MUSTER_FIELD(user, "its user (the real one)"),
      MUSTER_FIELD(waits_in, "function of the kernel that a task in D state waits in (wchan)"),
      MUSTER_FIELD(of_muster, "a child that an earlier run of muster left behind"),
      MUSTER_FIELD(stuck_since_s, "uptime at which an earlier run saw it in this sleep"),
      MUSTER_FIELD(awake_at_s, "uptime of the run before that one, which did not see it so"));
};

// The FUSE file systems of one user, in all mount namespaces.
struct FuseUser {
  std::uint64_t user = 0;
  std::uint64_t waiting = 0;

  MUSTER_FIELDS(FuseUser,
                MUSTER_FIELD(user, "user who mounted them"),
                MUSTER_FIELD(waiting, "requests to them that are not answered"));
};

// Any process, as ps shows it.
struct RunningProcess {
  std::uint64_t pid = 0;
  std::uint64_t parent = 0;
  Fact<std::uint64_t> user;  // real user id
  std::string name;          // comm
  std::string command;       // with its arguments; "[name]" of the kernel's own threads
  double cpu_s = 0;
  Fact<double> age_s;
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;

  MUSTER_FIELDS(RunningProcess,
                MUSTER_FIELD(pid, "process id"),
                MUSTER_FIELD(parent, "pid of the parent"),
                MUSTER_FIELD(user, "its user (the real one)"),
                MUSTER_FIELD(name, "comm"),
                MUSTER_FIELD(command, "with its arguments, as far as 256 bytes"),
                MUSTER_FIELD(cpu_s, "processor time it has used"),
                MUSTER_FIELD(age_s, "time since it was started"),
                MUSTER_FIELD(resident_bytes, "memory it holds"),
                MUSTER_FIELD(virtual_bytes, "memory it has mapped"));
};

struct Processes {
  Fact<double> load1;
  Fact<double> load5;
  Fact<double> load15;
  Fact<std::uint64_t> running;
  Fact<std::uint64_t> total;
  Fact<std::vector<Task>> uninterruptible;  // D state
  Fact<std::vector<Task>> zombies;
  Fact<std::vector<FuseUser>> fuse;                  // root left out
  Fact<std::vector<RunningProcess>> all;             // read only where somebody asks for them
  Fact<std::map<std::string, std::uint64_t>> users;  // read with them

  MUSTER_FIELDS(Processes,
                MUSTER_FIELD(load1, "load average, 1 minute"),
                MUSTER_FIELD(load5, "5 minutes"),
                MUSTER_FIELD(load15, "15 minutes"),
                MUSTER_FIELD(running, "runnable tasks"),
                MUSTER_FIELD(total, "all tasks"),
                MUSTER_FIELD(uninterruptible, "processes in D state"),
                MUSTER_FIELD(zombies, "processes that nobody waited for"),
                MUSTER_FIELD(fuse, "users whose FUSE file systems have unanswered requests"),
                MUSTER_FIELD(all, "all processes; absent where nobody asked for them"),
                MUSTER_FIELD(users, "user ids by the names in etc/passwd, read with them"));
};

}  // namespace muster
