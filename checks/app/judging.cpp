// SPDX-License-Identifier: Apache-2.0
#include "checks/app/judging.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "checks/nhc_conf/judge.hpp"
#include "lib/base/root.hpp"

namespace muster::app {

Selection selection_of(const CheckCommand& command) {
  return {.context = command.context, .only = command.only, .skip = command.skip};
}

// It is the caller's file, and not one of a foreign root.
Attempt<std::optional<nhc::Config>> nhc_conf_of(const CheckCommand& command) {
  if (command.nhc_conf.empty()) return std::nullopt;
  std::error_code failure;
  const auto path = std::filesystem::absolute(command.nhc_conf, failure);
  if (failure) {
    return bad_configuration(
        {.message =
             fmt::format("NHC's configuration {}: {}", command.nhc_conf, failure.message())});
  }
  const auto text = Root().read(path.string(), nhc::kLargestConfig);
  if (!text) {
    return bad_configuration(
        {.message = fmt::format("NHC's configuration: {}", text.error().message)});
  }
  return nhc::parse_config(command.nhc_conf, *text);
}

Report judge_as_asked(const CheckCommand& command,
                      const std::optional<nhc::Config>& config,
                      const Snapshot& snapshot,
                      const Profile& profile,
                      const nhc::Measured& measured) {
  if (config) return nhc::judge(snapshot, profile, *config, command.context, measured);
  return judge(snapshot, profile, selection_of(command));
}

}  // namespace muster::app
