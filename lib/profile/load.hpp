// SPDX-License-Identifier: Apache-2.0
// Loads profiles: defaults, inheritance, the site's overrides and --set. Every error names the
// file, the line, the key and the nearest known key.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"
#include "lib/profile/yaml.hpp"

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

// Returns all names that load_profile() knows, sorted.
[[nodiscard]] Result<std::vector<std::string>> profile_names(const ProfileSources& sources);

// Whether `text` has the form KEY=VALUE; the command line is checked before any profile is loaded.
[[nodiscard]] bool well_formed_setting(std::string_view text);

inline constexpr std::string_view kDefaults = "defaults";  // the profile below all others

struct ProfileFile {
  std::filesystem::path path;
  std::string shown;  // its name in errors: "profiles/nd96isr_h100_v5.yaml"
  std::string stem;   // the profile's name
  bool of_site = false;
  const ShippedFile* carried = nullptr;  // set if the program carries the file
};

using ProfileIndex = std::map<std::string, ProfileFile>;

// Returns all profiles but the defaults, by name; the site's override the shipped ones.
[[nodiscard]] Result<ProfileIndex> list_profiles(const ProfileSources& sources);

// The name in lower case and without "Standard_": "nd96isr_h100_v5" for Azure's
// "Standard_ND96isr_H100_v5".
[[nodiscard]] std::string plain_profile_name(std::string_view name);

// Finds a profile by path, by name, or by name as its cloud spells it. `from` is the profile that
// extends it, if any: relative paths start at its folder, and a site's profile may extend the
// shipped one of its own name.
[[nodiscard]] Result<ProfileFile> find_profile(const ProfileSources& sources,
                                               const ProfileIndex& index, std::string_view name,
                                               const ProfileFile* from = nullptr);

// Returns the document; an error if it is not a mapping or has a wrong schema or name.
[[nodiscard]] Result<Yaml> read_profile(const ProfileFile& file);

// Returns the document without read_profile()'s checks. From a file that the program carries it
// reads only the top-level keys in `sections`, or all if there are none.
[[nodiscard]] Result<Yaml> read_sections(const ProfileFile& file,
                                         const std::vector<std::string_view>& sections);

// The name that a document extends, empty for none.
[[nodiscard]] Result<std::string> extends_of(const Yaml& document, const ProfileFile& file);

// The site's muster.yaml. Blocks that it does not have are null.
struct SiteFile {
  std::string shown;
  std::string profile;   // empty if it names none
  int profile_line = 0;  // the line that names it
  Yaml overrides;
  Yaml slurm;   // which nodes muster takes out of service
  Yaml repair;  // what it may do to them
};

// An error if the folder of --root does not exist: its site's files would seem to be missing.
[[nodiscard]] Result<void> check_root(std::string_view root);

[[nodiscard]] Result<SiteFile> read_site(const ProfileSources& sources);

}  // namespace muster
