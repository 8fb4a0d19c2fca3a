// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/slurm_site.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pwd.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/choice/choice.hpp"
#include "lib/profile/site.hpp"

namespace muster::app {
namespace {

constexpr std::string_view kUsualState = "/var/lib/muster";

}  // namespace

Result<slurm::Rules> read_rules(std::string_view root,
                                const std::map<std::string, std::string>& variables) {
  slurm::Rules rules;
  const auto read = read_slurm_block(sources_of(variables, root, {}), rules, slurm::check_values);
  if (!read) return tl::unexpected(read.error());
  return rules;
}

std::filesystem::path state_folder(const std::string& state, std::string_view root) {
  if (!state.empty()) return state;
  return root == "/" ? std::filesystem::path(kUsualState) : std::filesystem::path();
}

std::filesystem::path history_file(const std::filesystem::path& folder) {
  return folder / "history.db";
}

Result<std::unique_ptr<slurm::Controller>> reach_slurm(
    const slurm::Rules& rules,
    const std::map<std::string, std::string>& variables,
    Clock::time_point end) {
  auto installation = slurm::find_installation(rules, variables);
  if (!installation) return tl::unexpected(installation.error());
  return slurm::make_controller(
      *std::move(installation), to_duration(rules.controller_deadline), end);
}

std::string utc(slurm::Time time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time.time_since_epoch().count()));
}

slurm::Time wall_time() { return slurm::Time(std::chrono::seconds(std::time(nullptr))); }

std::string user_name(::uid_t user) {
  const auto* entry = ::getpwuid(user);  // NOLINT(concurrency-mt-unsafe): one thread
  return entry == nullptr ? fmt::format("{}", user) : std::string(entry->pw_name);
}

std::string to_line(const slurm::Event& event) {
  const auto job = event.job.empty() ? "" : fmt::format(" job {}", printable(event.job, 40));
  return fmt::format("{} {} {} {}{}: {}\n",
                     utc(event.at),
                     event.kind,
                     printable(event.node, 100),
                     event.context,
                     job,
                     printable(event.message));
}

std::string to_json_line(const slurm::Event& event) {
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

}  // namespace muster::app
