// SPDX-License-Identifier: Apache-2.0
#include "lib/state/state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/files.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/state/counters.hpp"
#include "lib/state/xids.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestState = 16UL * 1024 * 1024;
constexpr std::size_t kMaxChanges = 64;      // of one counter
constexpr double kRememberFor = 48 * kHour;  // seconds; no window is longer

// Locks a separate file, because the state file is replaced. The wait is limited, so that a run
// that hangs does not hang others, but long enough for dozens of runs at once.
Result<Descriptor> lock_state(const fs::path& file) {
  const std::string name = fmt::format("{}.lock", file.string());
  Descriptor held(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (held.get() < 0) return os_error("open", name, errno);
  constexpr auto kLongest = std::chrono::milliseconds(1500);
  const auto until = Clock::now() + kLongest;
  for (;;) {
    if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
    if ((errno != EWOULDBLOCK && errno != EINTR) || Clock::now() >= until) break;
    ::usleep(1000);
  }
  return os_error("lock", name, errno);
}

// Refuses files that other users could have written.
Result<std::string> read_private(const fs::path& file) {
  const std::string name = file.string();
  const Descriptor held(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!held.is_open()) return file_error("open", name, errno);
  struct stat status = {};
  if (::fstat(held.get(), &status) != 0) return os_error("stat", name, errno);
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return make_error("{} belongs to another user, or others can write to it", name);
  }
  return read_file(held, name, kLargestState);
}

Earlier move_away(const fs::path& file, std::string_view why) {
  const std::string bad = fmt::format("{}.bad", file.string());
  const bool moved = ::rename(file.c_str(), bad.c_str()) == 0;
  return {.note = fmt::format(
              "cannot use the state of earlier runs, which {}: {}; rates start afresh",
              moved ? fmt::format("was moved to {}", bad) : "cannot be moved", printable(why))};
}

void remember_change(std::vector<CounterChange>& changes, CounterChange now) {
  if (!changes.empty() &&
      (changes.back().value == now.value || changes.back().uptime_s >= now.uptime_s)) {
    return;
  }
  changes.push_back(now);
  // Keep one value from before the longest window: the one at its beginning.
  while (changes.size() > 2 && changes[1].uptime_s < now.uptime_s - kRememberFor) {
    changes.erase(changes.begin());
  }
  // Keep fewer values of a counter that changes all the time.
  if (changes.size() > kMaxChanges) {
    std::vector<CounterChange> thinned;
    for (std::size_t i = 0; i < changes.size(); i += 2) thinned.push_back(changes[i]);
    if (thinned.back() != changes.back()) thinned.push_back(changes.back());
    changes = std::move(thinned);
  }
}

// Ignores runs that did not observe the processes, or did so earlier than another run.
void remember_stuck(Earlier& state, const Snapshot& snapshot, double uptime_s) {
  const auto& tasks = snapshot.processes->uninterruptible;
  if (!tasks || uptime_s < state.processes_seen_uptime_s) return;
  state.stuck.clear();
  for (const auto& task : *tasks) {
    StuckTask stuck{.pid = task.pid,
                    .start_ticks = task.start_ticks,
                    .since_s = uptime_s,
                    .awake_at_s = state.processes_seen_uptime_s,
                    .switches = task.switches};
    if (task.stuck_since_s) {
      stuck.since_s = *task.stuck_since_s;
      stuck.awake_at_s = task.awake_at_s.value_or(0);
    }
    state.stuck.push_back(std::move(stuck));
  }
  state.processes_seen_uptime_s = uptime_s;
}

fs::path note_of(const fs::path& state_file) { return state_file.parent_path() / "left_behind"; }

bool something_hangs(const Snapshot& snapshot) {
  bool hangs =
      std::ranges::any_of(snapshot.mounts->mounts, &Mount::hung) ||
      std::ranges::any_of(snapshot.nvml->gpus, [](const Gpu& gpu) { return !gpu.stuck.empty(); });
  for_each_section(snapshot, [&](Probe /*probe*/, const auto& section) {
    hangs = hangs || section.status == Status::timeout;
  });
  return hangs;
}

// Creates the note if something hung in `snapshot`, and removes it if everything answered. Failures
// are ignored: only the next run misses the note.
void note_left_behind(const fs::path& state_file, const Snapshot& snapshot) {
  const std::string note = note_of(state_file).string();
  if (something_hangs(snapshot)) {
    const Descriptor made(
        ::open(note.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  } else if (snapshot.mounts.ok() && snapshot.nvml.asked()) {
    ::unlink(note.c_str());
  }
}

}  // namespace

Earlier read_state(const fs::path& file, std::string_view boot_id) {
  const auto content = read_private(file);
  if (!content && content.error().missing) return {};
  if (!content) return move_away(file, content.error().message);
  auto earlier = parse_state(*content);
  if (!earlier) return move_away(file, earlier.error().message);
  if (earlier->boot_id == boot_id && !boot_id.empty()) return *std::move(earlier);
  return {.note = "the state of earlier runs is from another boot; rates start afresh",
          .xids = std::move(earlier->xids),
          .jobs = std::move(earlier->jobs)};
}

// A task that was seen asleep twice may have run in between, like one that writes to a busy disk.
// Its context switches show that, as they do for the kernel's own detector of hung tasks.
void recall_stuck_tasks(Snapshot& snapshot) {
  if (!snapshot.processes->uninterruptible) return;
  for (auto& task : *snapshot.processes->uninterruptible) {
    const auto seen = std::ranges::find_if(snapshot.earlier.stuck, [&](const StuckTask& each) {
      return each.pid == task.pid && each.start_ticks == task.start_ticks;
    });
    if (seen == snapshot.earlier.stuck.end() || !seen->switches || !task.switches) continue;
    if (*seen->switches != *task.switches) continue;
    task.stuck_since_s = seen->since_s;
    task.awake_at_s = seen->awake_at_s;
  }
}

Result<void> write_state(const fs::path& file, const Snapshot& snapshot, bool xids_of_programs) {
  if (file.has_parent_path()) {
    std::error_code failed;
    if (fs::create_directories(file.parent_path(), failed)) {
      fs::permissions(file.parent_path(), fs::perms::owner_all, failed);
    }
    if (failed) {
      return make_error("create {}: {}", file.parent_path().string(), failed.message());
    }
  }
  note_left_behind(file, snapshot);
  if (!snapshot.identity->boot_id || !snapshot.identity->uptime_s) {
    return make_error("{} is not written: boot id or uptime is unknown", file.string());
  }
  TRY_ASSIGN(const auto held, lock_state(file));

  const double uptime_s = *snapshot.identity->uptime_s;
  Earlier state = read_state(file, *snapshot.identity->boot_id);
  state.note.clear();
  state.boot_id = *snapshot.identity->boot_id;
  state.last_uptime_s = std::max(state.last_uptime_s, uptime_s);
  for (const auto& [key, value] : counters_of(snapshot)) {
    remember_change(state.counters[key], {.uptime_s = uptime_s, .value = value});
  }
  remember_stuck(state, snapshot, uptime_s);
  remember_job(state, snapshot);
  remember_xids(state, snapshot, xids_of_programs);
  return replace_file(file, state_to_json(state), 0600);
}

bool nothing_left_behind(const fs::path& state_file) {
  return ::access(note_of(state_file).c_str(), F_OK) != 0 &&
         ::access(state_file.parent_path().c_str(), W_OK) == 0;
}

}  // namespace muster
