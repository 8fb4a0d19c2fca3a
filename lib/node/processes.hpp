// SPDX-License-Identifier: Apache-2.0
// Facts about load and tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Task {
  MUSTER_DESCRIBED(Task);
  MUSTER_FIELD(std::uint64_t, pid, "process id") = 0;
  MUSTER_FIELD(std::string, name, "comm");
  // Since boot: with the pid it identifies the task.
  MUSTER_FIELD(std::uint64_t, start_ticks, "start time in clock ticks since boot") = 0;
  MUSTER_FIELD(std::uint64_t, parent, "pid of the parent") = 0;
  MUSTER_FIELD(Fact<std::uint64_t>, switches,
               "context switches of both kinds, of a task in D state: they move when it wakes up");
  MUSTER_FIELD(Fact<std::uint64_t>, user, "its user (the real one)");
  MUSTER_FIELD(Fact<std::string>, waits_in,
               "function of the kernel that a task in D state waits in (wchan)");
  MUSTER_FIELD(bool, of_muster, "a child that an earlier run of muster left behind") = false;
  MUSTER_FIELD(Fact<double>, stuck_since_s, "uptime at which an earlier run saw it in this sleep");
  MUSTER_FIELD(Fact<double>, awake_at_s,
               "uptime of the run before that one, which did not see it so");
};

// The FUSE file systems of one user, in all mount namespaces.
struct FuseUser {
  MUSTER_DESCRIBED(FuseUser);
  MUSTER_FIELD(std::uint64_t, user, "user who mounted them") = 0;
  MUSTER_FIELD(std::uint64_t, waiting, "requests to them that are not answered") = 0;
};

// Any process, as ps shows it.
struct RunningProcess {
  MUSTER_DESCRIBED(RunningProcess);
  MUSTER_FIELD(std::uint64_t, pid, "process id") = 0;
  MUSTER_FIELD(std::uint64_t, parent, "pid of the parent") = 0;
  MUSTER_FIELD(Fact<std::uint64_t>, user, "its user (the real one)");
  MUSTER_FIELD(std::string, name, "comm");
  // With its arguments; "[name]" of the kernel's own threads.
  MUSTER_FIELD(std::string, command, "with its arguments, as far as 256 bytes");
  MUSTER_FIELD(double, cpu_s, "processor time it has used") = 0;
  MUSTER_FIELD(Fact<double>, age_s, "time since it was started");
  MUSTER_FIELD(std::uint64_t, resident_bytes, "memory it holds") = 0;
  MUSTER_FIELD(std::uint64_t, virtual_bytes, "memory it has mapped") = 0;
};

struct Processes {
  MUSTER_DESCRIBED(Processes);
  MUSTER_FIELD(Fact<double>, load1, "load average, 1 minute");
  MUSTER_FIELD(Fact<double>, load5, "5 minutes");
  MUSTER_FIELD(Fact<double>, load15, "15 minutes");
  MUSTER_FIELD(Fact<std::uint64_t>, running, "runnable tasks");
  MUSTER_FIELD(Fact<std::uint64_t>, total, "all tasks");
  MUSTER_FIELD(Fact<std::vector<Task>>, uninterruptible, "processes in D state");
  MUSTER_FIELD(Fact<std::vector<Task>>, zombies, "processes that nobody waited for");
  // Root left out.
  MUSTER_FIELD(Fact<std::vector<FuseUser>>, fuse,
               "users whose FUSE file systems have unanswered requests");
  MUSTER_FIELD(Fact<std::vector<RunningProcess>>, all,
               "all processes; absent where nobody asked for them");
  MUSTER_FIELD(Fact<ByName<std::uint64_t>>, users,
               "user ids by the names in etc/passwd, read with them");
};

}  // namespace muster
