// SPDX-License-Identifier: Apache-2.0
// The profiles that recognition chooses from, and the choice alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"
#include "lib/profile/recognise.hpp"

namespace muster {

struct Candidate {
  std::string name;
  Recognise wants;
  bool of_site = false;  // the site's own profile goes before a shipped one that fits as well
};

struct Candidates {
  std::vector<Candidate> profiles;
  std::map<std::string, std::string> by_name;  // profiles by their names and aliases, made plain
  std::vector<std::string> remarks;            // why a profile of the site is not among them
};

// Every profile whose file has a block `recognise`, merged with those of what it extends. A profile
// without a block of its own is chosen by name only. The site's own files are read as a whole: one
// that is no YAML, or has a wrong schema, name or top-level key, is an error.
[[nodiscard]] Result<Candidates> read_candidates(const ProfileSources& sources);

[[nodiscard]] Recognised choose(const Candidates& candidates, const Hardware& hardware);

}  // namespace muster
