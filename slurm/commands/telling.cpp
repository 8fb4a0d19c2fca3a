// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/telling.hpp"

#include <fmt/format.h>
#include <syslog.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/text.hpp"

namespace muster::app {
namespace {

void write_syslog(int priority, const std::string& line) {
  ::openlog("muster", LOG_PID, LOG_DAEMON);
  ::syslog(priority, "%s", line.c_str());
}

}  // namespace

std::string told(const slurm::Event& event) {
  return fmt::format("{} {}: {}", event.kind, printable(event.node, 100), printable(event.message));
}

void tell_syslog(const slurm::Event& event) {
  constexpr std::array<std::string_view, 3> kGrave{"trouble", "refused", "confirmed"};
  const bool grave = std::ranges::find(kGrave, event.kind) != kGrave.end();
  write_syslog(grave ? LOG_WARNING : LOG_NOTICE, told(event));
}

void warn_syslog(const std::string& line) { write_syslog(LOG_WARNING, line); }

}  // namespace muster::app
