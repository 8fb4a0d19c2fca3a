// SPDX-License-Identifier: Apache-2.0
// The profiles that recognition chooses from.
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
  bool of_site = false;  // the site's profile is preferred to an equally good shipped one
};

struct Candidates {
  std::vector<Candidate> profiles;
  std::map<std::string, std::string> by_name;  // profile by plain name or alias
  std::vector<std::string> remarks;            // why profiles of the site are missing
};

// Returns every profile whose file has a block `recognise`, merged with those that it inherits;
// other profiles are chosen by name only. A file of the site that is not valid YAML, or has a wrong
// schema, name or top-level key, is an error.
[[nodiscard]] Result<Candidates> read_candidates(const ProfileSources& sources);

[[nodiscard]] Recognised choose(const Candidates& candidates, const Hardware& hardware);

}  // namespace muster
