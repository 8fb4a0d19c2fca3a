// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/syslog.hpp"

#include <syslog.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace muster::app {
namespace {

void write_syslog(int priority, const std::string& line) {
  ::openlog("muster", LOG_PID, LOG_DAEMON);
  ::syslog(priority, "%s", line.c_str());
}

}  // namespace

void log_event(const slurm::Event& event) {
  constexpr std::array<std::string_view, 3> kGrave{"trouble", "refused", "confirmed"};
  const bool grave = std::ranges::find(kGrave, event.kind) != kGrave.end();
  write_syslog(grave ? LOG_WARNING : LOG_NOTICE, slurm::summary(event));
}

void log_warning(const std::string& line) { write_syslog(LOG_WARNING, line); }

}  // namespace muster::app
