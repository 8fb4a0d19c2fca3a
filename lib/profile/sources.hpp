// SPDX-License-Identifier: Apache-2.0
// The files of profiles, before any is merged.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {

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

[[nodiscard]] ProfileFile defaults_file(const ProfileSources& sources);

// Returns the file that defaults.yaml extends, if any.
[[nodiscard]] Result<std::optional<ProfileFile>> parent_of_defaults(const ProfileFile& defaults,
                                                                    const Yaml& document);

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
  int profile_line = 0;  // where it does
  Yaml overrides;
  Yaml slurm;  // what muster may do to nodes
};

[[nodiscard]] Result<SiteFile> read_site(const ProfileSources& sources);

}  // namespace muster
