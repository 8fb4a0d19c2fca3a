// SPDX-License-Identifier: Apache-2.0
// `muster profiles`: the names; `muster profiles show NAME`: the merged profile, each value with
// the file and line that set it.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "checks/app/choice.hpp"
#include "checks/app/commands.hpp"
#include "checks/app/limits_of.hpp"
#include "lib/base/text.hpp"
#include "lib/report/report.hpp"

namespace muster::app {
namespace {

int list_profiles(const ProfileSources& sources, const Caller& caller) {
  const auto listed = profile_names(sources);
  if (!listed) return fail(caller, bad_configuration(listed.error()).value());
  const auto& names = *listed;
  if (names.empty()) {
    return fail(caller,
                {.status = kExitConfiguration,
                 .message = fmt::format("no profiles in {}", sources.shipped.string())});
  }
  std::size_t width = 0;
  for (const auto& name : names) width = std::max(width, name.size());
  std::string text;
  int status = kExitHealthy;
  for (const auto& name : names) {
    const auto profile = read_profile_of(sources, name);
    if (profile) {
      text +=
          fmt::format("{:{}}  {}\n", printable(name, 120), width, printable(profile->summary, 200));
    } else {
      status = fail(caller, bad_configuration(profile.error()).value());
    }
  }
  return deliver(caller, "", text, status);
}

std::string line_of(std::string_view path, const LimitValue& limit) {
  const auto source = source_of(limit.origin);
  return fmt::format("{}: {}  # {}{}{}\n",
                     printable(path),
                     shown_value(limit.value),
                     place_of(limit.origin),
                     source.empty() ? "" : "; ",
                     source);
}

int show_profile(const ProfileSources& sources, const std::string& name, const Caller& caller) {
  const auto profile = read_profile_of(sources, name);
  if (!profile) return fail(caller, bad_configuration(profile.error()).value());
  auto text =
      fmt::format("# {}: {}\n", printable(profile->name, 120), printable(profile->summary, 300));
  for (const auto& [path, value] : values_at(*profile, "")) text += line_of(path, value);
  for (const auto& warning : review(*profile))
    caller.console.note(fmt::format("muster: warning: {}", warning));
  return deliver(caller, "", text, kExitHealthy);
}

}  // namespace

int run_profiles(const ProfilesCommand& command, const Caller& caller) {
  const auto sources = sources_of(data_folder(caller.variables), command.root, command.settings);
  return command.show.empty() ? list_profiles(sources, caller)
                              : show_profile(sources, command.show, caller);
}

}  // namespace muster::app
