// SPDX-License-Identifier: Apache-2.0
#include "lib/choice/choice.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

#include "lib/choice/hardware.hpp"

namespace muster {
namespace {

// MUSTER_DATA_DIR, empty where it is not set.
std::filesystem::path named_folder(const std::map<std::string, std::string>& variables) {
  const auto named = variables.find("MUSTER_DATA_DIR");
  if (named == variables.end()) return {};
  return named->second;
}

}  // namespace

std::filesystem::path data_folder(const std::map<std::string, std::string>& variables) {
  if (auto named = named_folder(variables); !named.empty()) return named;
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return "/usr/share/muster";
  return program.parent_path().parent_path() / "share" / "muster";
}

ProfileSources sources_of(const std::map<std::string, std::string>& variables,
                          std::string_view root,
                          std::vector<std::string> settings) {
  const auto named = named_folder(variables);
  return {.shipped = named.empty() ? named : named / "profiles",
          .site = std::filesystem::path(root) / "etc" / "muster",
          .settings = std::move(settings)};
}

Attempt<std::optional<Named>> profile_name(const ProfileSources& sources, const std::string& name) {
  if (!name.empty()) return Named{.profile = name, .evidence = "named by --profile", .place = ""};
  auto site = site_profile(sources);
  if (!site) return bad_configuration(site.error());
  if (site->profile.empty()) return std::nullopt;
  return Named{.profile = std::move(site->profile),
               .evidence = fmt::format("named by {}", (sources.site / "muster.yaml").string()),
               .place = std::move(site->place)};
}

Attempt<Choice> named_profile(const ProfileSources& sources, Named named, ReadProfile read) {
  auto profile = read(sources, named.profile);
  if (!profile) {
    auto error = std::move(profile.error());
    // What is wrong inside of the profile names its own place.
    if (error.missing && !named.place.empty()) {
      error.message = fmt::format("{}: 'profile': {}", named.place, error.message);
    }
    return bad_configuration(error);
  }
  return Choice{.profile = std::move(*profile), .evidence = {std::move(named.evidence)}};
}

Attempt<Choice> recognised_profile(const ProfileSources& sources,
                                   const Result<Candidates>& candidates,
                                   const Snapshot& snapshot,
                                   ReadProfile read) {
  if (!candidates) return bad_configuration(candidates.error());
  auto recognised = choose(*candidates, hardware_of(snapshot));
  auto profile = read(sources, recognised.profile);
  if (!profile) return bad_configuration(profile.error());
  return Choice{.profile = std::move(*profile),
                .evidence = with_gaps(std::move(recognised.evidence), snapshot)};
}

}  // namespace muster
