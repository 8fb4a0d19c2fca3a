// SPDX-License-Identifier: Apache-2.0
// Profiles from YAML: defaults, inheritance, the site's choices, --set. Only lib/profile parses
// YAML; every error names file, line, key and the nearest known key.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster {

struct ProfileSources {
  // The folder with defaults.yaml and one file per SKU; empty for those that the program carries.
  std::filesystem::path shipped;
  std::filesystem::path site;         // /etc/muster, below --root; need not exist
  std::vector<std::string> settings;  // --set KEY=VALUE, in order
};

// Merges, weakest first: defaults.yaml, what it extends, the profile, site/muster.yaml's
// `overrides`, --set. `name` is a name (site/profiles, then shipped), or a path when it has a slash
// or ends in .yaml. A name or file that does not exist, an unknown key, a missing unit or a limit
// above its physical ceiling is an error that says so.
[[nodiscard]] Result<Profile> load_profile(const ProfileSources& sources, std::string_view name);

// Warnings of a loaded profile that are no errors: a limit above 98% of its ceiling or above the
// block's own `expected`, a block without a source.
[[nodiscard]] std::vector<std::string> review(const Profile& profile);

// The profile that the site's muster.yaml names (`profile: NAME`).
struct SiteChoice {
  std::string profile;  // empty when it names none
  std::string place;    // "/etc/muster/muster.yaml:2"
};

// All names that load_profile knows, sorted; and what the site says.
[[nodiscard]] Result<std::vector<std::string>> profile_names(const ProfileSources& sources);
[[nodiscard]] Result<SiteChoice> site_profile(const ProfileSources& sources);

// Is `text` of the form KEY=VALUE? Usage is judged before configuration.
[[nodiscard]] bool well_formed_setting(std::string_view text);

}  // namespace muster
