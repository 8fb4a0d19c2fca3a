// SPDX-License-Identifier: Apache-2.0
// Something that muster did to a node or refused to do, or the result of a sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// "2026-11-20T12:00:00Z".
[[nodiscard]] std::string utc(Time time);

// "drained gpu-0007: …", for syslog, standard output and slurmd's log.
[[nodiscard]] std::string summary(const Event& event);

// "2026-11-20T12:00:00Z drained gpu-0007 periodic: …", with a newline.
[[nodiscard]] std::string to_line(const Event& event);

// One line of JSON, schema muster.event/1, with a newline.
[[nodiscard]] std::string to_json_line(const Event& event);

// A line of the history's file: as to_json_line, with the exact texts.
[[nodiscard]] std::string to_stored_line(const Event& event);
// Nothing for a line that is damaged.
[[nodiscard]] std::optional<Event> parse_stored_line(std::string_view line);

}  // namespace muster::slurm
