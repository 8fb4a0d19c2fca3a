// SPDX-License-Identifier: Apache-2.0
// Which files there are, and what each is before anything is laid over anything.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/shipped.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {

inline constexpr std::string_view kDefaults = "defaults";  // the profile below all others

struct ProfileFile {
  std::filesystem::path path;
  std::string shown;  // what errors call it: "profiles/nd96isr_h100_v5.yaml"
  std::string stem;   // its name
  bool of_site = false;
  const ShippedFile* carried = nullptr;  // where the program carries it, and nothing is read
};

using ProfileIndex = std::map<std::string, ProfileFile>;

// All profiles but defaults.yaml, by name; the site's own beat the shipped ones.
[[nodiscard]] Result<ProfileIndex> list_profiles(const ProfileSources& sources);

// defaults.yaml.
[[nodiscard]] ProfileFile defaults_file(const ProfileSources& sources);

// What defaults.yaml extends, laid below it; nothing where it extends nothing.
[[nodiscard]] Result<std::optional<ProfileFile>> below_defaults(const ProfileFile& defaults,
                                                                const Yaml& document);

// The name in lower case and without "Standard_": "nd96isr_h100_v5" of what Azure calls
// "Standard_ND96isr_H100_v5".
[[nodiscard]] std::string plain_profile_name(std::string_view name);

// Finds a profile by name or path; a name may be written as its cloud writes it. A site's profile
// may extend the shipped one of its own name: `from` is the file that asks, and relative paths
// start at its folder.
[[nodiscard]] Result<ProfileFile> find_profile(const ProfileSources& sources,
                                               const ProfileIndex& index, std::string_view name,
                                               const ProfileFile* from = nullptr);

// The document, with a schema and a name that are as they must be.
[[nodiscard]] Result<Yaml> read_profile(const ProfileFile& file);

// The document, without read_profile()'s checks. Of a file that is carried in the program, only the
// top-level keys in `sections`; all where there are none.
[[nodiscard]] Result<Yaml> read_sections(const ProfileFile& file,
                                         const std::vector<std::string_view>& sections);

// The name that a document extends, empty for none.
[[nodiscard]] Result<std::string> extends_of(const Yaml& document, const ProfileFile& file);

// The site's muster.yaml.
struct SiteFile {
  std::string shown;
  std::string profile;   // empty when it names none
  int profile_line = 0;  // where it does
  Yaml overrides;        // null when it has none
  Yaml slurm;            // what muster may do to nodes; null when it has none
  Yaml nhc;              // what NHC's configurations may do; null when it has none
};

[[nodiscard]] Result<SiteFile> read_site(const ProfileSources& sources);

}  // namespace muster
