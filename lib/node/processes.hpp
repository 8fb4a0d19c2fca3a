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
  std::uint64_t pid = 0;
  std::string name;
  std::uint64_t start_ticks = 0;  // since boot: with the pid it identifies the task
  std::uint64_t parent = 0;
  Fact<std::uint64_t> switches;  // of D state only: it moves when the task wakes up
  Fact<double> stuck_since_s;    // uptime at which an earlier run saw it so already
  Fact<double> awake_at_s;       // uptime of the run before that one, which did not

  template <class Self = Task>
  static constexpr auto fields() {
    return std::tuple{
        field("pid", &Self::pid, "process id"),
        field("name", &Self::name, "comm"),
        field("start_ticks", &Self::start_ticks, "start time in clock ticks since boot"),
        field("parent", &Self::parent, "pid of the parent"),
        field("switches",
              &Self::switches,
              "context switches of both kinds, of a task in D state: they move when it wakes up"),
        field("stuck_since_s",
              &Self::stuck_since_s,
              "uptime at which an earlier run saw it in this sleep"),
        field("awake_at_s",
              &Self::awake_at_s,
              "uptime of the run before that one, which did not see it so")};
  }

  bool operator==(const Task&) const = default;
};

struct Processes {
  Fact<double> load1;
  Fact<double> load5;
  Fact<double> load15;
  Fact<std::uint64_t> running;
  Fact<std::uint64_t> total;
  Fact<std::vector<Task>> uninterruptible;  // D state
  Fact<std::vector<Task>> zombies;

  template <class Self = Processes>
  static constexpr auto fields() {
    return std::tuple{field("load1", &Self::load1, "load average, 1 minute"),
                      field("load5", &Self::load5, "5 minutes"),
                      field("load15", &Self::load15, "15 minutes"),
                      field("running", &Self::running, "runnable tasks"),
                      field("total", &Self::total, "all tasks"),
                      field("uninterruptible", &Self::uninterruptible, "processes in D state"),
                      field("zombies", &Self::zombies, "processes that nobody waited for")};
  }

  bool operator==(const Processes&) const = default;
};

}  // namespace muster
