// SPDX-License-Identifier: Apache-2.0
#include "bench/app/choice.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "lib/base/root.hpp"
#include "lib/probes/observe.hpp"

namespace muster::bench {
namespace {

// What recognition looks at. These files are local: a node that cannot read them in this time has
// other troubles, and is judged as `generic`.
constexpr auto kPatience = std::chrono::seconds(5);

Attempt<Choice> recognise_node(const ProfileSources& sources, const Variables& variables) {
  constexpr ProbeSet kAsked =
      Probe::identity | Probe::cpu | Probe::memory | Probe::pci | Probe::infiniband;
  const ObserveOptions options{.recognise = true,
                               .probes = kAsked,
                               .deadline = std::chrono::steady_clock::now() + kPatience,
                               .nvml = {},
                               .state_file = std::nullopt,
                               .variables = variables};
  Attempt<Choice> choice;
  (void)observe(Root(), options, [&](const Snapshot& snapshot) -> std::optional<Plan> {
    choice = recognised_profile(sources, snapshot, load_profile);
    return std::nullopt;
  });
  return choice;
}

}  // namespace

Attempt<Choice> choose_profile(const BenchCommand& command, const Variables& variables) {
  const auto sources = sources_of(data_folder(variables), "/", command.settings);
  const auto name = profile_name(sources, command.profile);
  if (!name) return tl::unexpected(name.error());
  if (*name) return named_profile(sources, **name, load_profile);
  return recognise_node(sources, variables);
}

Settings take_settings(const Profile& profile, Variables& variables) {
  Settings settings;
  for (const auto& [name, value] : profile.bench.environment) {
    if (variables.contains(name)) continue;
    // In a container the host's files are often missing, and NCCL takes an empty topology for one.
    std::error_code failure;
    if (name.ends_with("_FILE") && !std::filesystem::exists(value, failure)) {
      settings.left_out.push_back(fmt::format("{}={}: no such file", name, value));
      continue;
    }
    if (::setenv(name.c_str(), value.c_str(), 0) != 0) continue;
    variables[name] = value;
    settings.taken.push_back(fmt::format("{}={}", name, value));
  }
  return settings;
}

}  // namespace muster::bench
