// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/event.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"

namespace muster::slurm {

std::string utc(Time time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time.time_since_epoch().count()));
}

std::string summary(const Event& event) {
  return fmt::format("{} {}: {}", event.kind, printable(event.node, 100), printable(event.message));
}

std::string to_line(const Event& event) {
  const auto job = event.job.empty() ? "" : fmt::format(" job {}", printable(event.job, 40));
  return fmt::format("{} {} {} {}{}: {}\n", utc(event.at), event.kind, printable(event.node, 100),
                     event.context, job, printable(event.message));
}

std::string to_json_line(const Event& event) {
  const nlohmann::ordered_json line{{"schema", "muster.event/1"},
                                    {"id", event.id},
                                    {"at", utc(event.at)},
                                    {"node", printable(event.node)},
                                    {"kind", event.kind},
                                    {"context", event.context},
                                    {"job", printable(event.job)},
                                    {"check", event.check},
                                    {"device", printable(event.device)},
                                    {"message", printable(event.message, 1000)},
                                    {"reason", event.reason},
                                    {"boot_id", event.boot_id}};
  return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace muster::slurm
