// SPDX-License-Identifier: Apache-2.0
// The event log of this machine: one line of JSON for each event, appended to events.jsonl. It is
// for people and for sweeps; no decision about a drain reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"
#include "slurm/history/event.hpp"

namespace muster::slurm {

struct EventFilter {
  std::vector<std::string> nodes;  // empty: all
  std::vector<std::string> kinds;
  std::optional<Time> since;
  std::int64_t after_id = 0;
  std::size_t most = 0;  // only the newest ones; 0: all
};

class History {
 public:
  // A file beyond this size is renamed to `<file>.1`, which replaces the one before it.
  static constexpr std::uintmax_t kLargestFile = 16UL << 20U;

  // Creates the file (mode 0600) and its folder. An error if the file or the folder belongs to
  // another user, or others may write to the folder.
  [[nodiscard]] static Result<History> open(const std::filesystem::path& file);
  // For reading only: `missing` if there is no such file.
  [[nodiscard]] static Result<History> read(const std::filesystem::path& file);

  // Appends an event, or several at once. Other processes may do the same.
  [[nodiscard]] Result<void> add(const Event& event) { return add(std::vector<Event>{event}); }
  [[nodiscard]] Result<void> add(std::vector<Event> events);

  [[nodiscard]] Result<std::vector<Event>> events(const EventFilter& filter) const;  // oldest first

 private:
  explicit History(std::filesystem::path file) : file_(std::move(file)) {}

  // Calls `visit` for each event from the newest on, until it returns false.
  [[nodiscard]] Result<void> walk_back(const std::function<bool(Event)>& visit) const;

  std::filesystem::path file_;
};

}  // namespace muster::slurm
