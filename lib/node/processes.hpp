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
  MUSTER_FIELD(std::uint64_t, start_ticks,
               "start time in clock ticks since boot; identifies the task with pid") = 0;
  MUSTER_FIELD(std::uint64_t, parent, "pid of the parent") = 0;
  MUSTER_FIELD(Fact<std::uint64_t>, switches,
               "context switches of a task in D state, which change when it wakes up");
  MUSTER_FIELD(Fact<std::uint64_t>, user, "real user id");
  MUSTER_FIELD(Fact<std::string>, waits_in,
               "kernel function that a task in D state waits in (wchan)");
  MUSTER_FIELD(bool, of_muster, "a child that an earlier run of muster left behind") = false;
  MUSTER_FIELD(Fact<double>, stuck_since_s, "uptime of the first run that saw it in this sleep");
  MUSTER_FIELD(Fact<double>, awake_at_s, "uptime of the run before, which did not");
};

// The FUSE file systems of one user, in all mount namespaces.
struct FuseUser {
  MUSTER_DESCRIBED(FuseUser);
  MUSTER_FIELD(std::uint64_t, user, "user who mounted them") = 0;
  MUSTER_FIELD(std::uint64_t, waiting, "unanswered requests to them") = 0;
};

struct Processes {
  MUSTER_DESCRIBED(Processes);
  MUSTER_FIELD(Fact<double>, load1, "load average, 1 minute");
  MUSTER_FIELD(Fact<double>, load5, "5 minutes");
  MUSTER_FIELD(Fact<double>, load15, "15 minutes");
  MUSTER_FIELD(Fact<std::uint64_t>, running, "runnable tasks");
  MUSTER_FIELD(Fact<std::uint64_t>, total, "all tasks");
  MUSTER_FIELD(Fact<std::vector<Task>>, uninterruptible, "processes in D state");
  MUSTER_FIELD(Fact<std::vector<Task>>, zombies, "zombie processes");
  MUSTER_FIELD(Fact<std::vector<FuseUser>>, fuse,
               "users, except root, whose FUSE file systems have unanswered requests");
};

}  // namespace muster
