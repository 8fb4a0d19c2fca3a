// SPDX-License-Identifier: Apache-2.0
// The event log of this machine: one line of JSON for each event, appended to events.jsonl. It is
// for people and for sweeps; no decision about a drain reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"
#include "slurm/cluster/node_state.hpp"

namespace muster::slurm {

struct Event {
  std::int64_t id = 0;  // assigned by the history
  Time at{};
  std::string node;
  std::string kind;     // drained, resumed, kept, refused, undone, trouble, sweep, confirmed …
  std::string context;  // prolog, epilog, periodic, boot, admin, sweep
  std::string job;      // empty for none
  std::string check;
  std::string device;
  std::string message;  // a sentence
  std::string reason;   // the reason given to Slurm; empty for none
  std::string boot_id;

  bool operator==(const Event&) const = default;
};

// "drained gpu-0007: …", for syslog, standard output and slurmd's log.
[[nodiscard]] std::string summary(const Event& event);

// "2026-11-20T12:00:00Z drained gpu-0007 periodic: …", with a newline.
[[nodiscard]] std::string to_line(const Event& event);

// One line of JSON, schema muster.event/1, with a newline.
[[nodiscard]] std::string to_json_line(const Event& event);

// Returns the refusals of hooks among these events, oldest first, that are still open. A later
// refusal by the same check, its end, or a drain, resume or release of the node closes one.
[[nodiscard]] std::vector<Event> lasting_refusals(const std::vector<Event>& events);

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
  // Opens the file for reading only: `missing` if there is no such file.
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
