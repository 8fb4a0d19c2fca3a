// SPDX-License-Identifier: Apache-2.0
// Loads profiles: defaults, inheritance, the site's overrides and --set. Every error names the
// file, the line, the key and the nearest known key.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster {

struct ProfileSources {
  // The folder with defaults.yaml and one file per SKU; empty for those in the program.
  std::filesystem::path shipped;
  std::filesystem::path site;         // /etc/muster, below --root; need not exist
  std::vector<std::string> settings;  // --set KEY=VALUE, in order
};

// Merges, weakest first: what defaults.yaml extends, defaults.yaml, the profile with what it
// extends, `overrides` in the site's muster.yaml, and --set. `name` is a name (the site's profiles
// before the shipped ones), or a path if it has a slash or ends in .yaml.
[[nodiscard]] Result<Profile> load_profile(const ProfileSources& sources, std::string_view name);

// Returns warnings about a valid profile: blocks without a source.
[[nodiscard]] std::vector<std::string> review(const Profile& profile);

// The profile that the site's muster.yaml names (`profile: NAME`).
struct SiteChoice {
  std::string profile;  // empty if it names none
  std::string place;    // "/etc/muster/muster.yaml:2"
};

// Returns all names that load_profile() knows, sorted.
[[nodiscard]] Result<std::vector<std::string>> profile_names(const ProfileSources& sources);
[[nodiscard]] Result<SiteChoice> site_profile(const ProfileSources& sources);

// Whether `text` has the form KEY=VALUE; the command line is checked before any profile is loaded.
[[nodiscard]] bool well_formed_setting(std::string_view text);

}  // namespace muster
