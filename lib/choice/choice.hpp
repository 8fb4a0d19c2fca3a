// SPDX-License-Identifier: Apache-2.0
// Chooses the profile of a run: the one on the command line, the site's, or the one that matches
// the hardware.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/profile/candidates.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"
#include "lib/profile/recognise.hpp"
#include "lib/report/failure.hpp"

namespace muster {

struct Choice {
  Profile profile;
  std::vector<std::string> evidence;  // how it was chosen
};

// The folder of installed data: MUSTER_DATA_DIR, else share/muster next to the program's bin.
[[nodiscard]] std::filesystem::path data_folder(
    const std::map<std::string, std::string>& variables);

// The shipped profiles are built into the program, unless MUSTER_DATA_DIR is set; the site's are in
// /etc/muster below `root`.
[[nodiscard]] ProfileSources sources_of(const std::map<std::string, std::string>& variables,
                                        std::string_view root, std::vector<std::string> settings);

// The facts of a snapshot that identify the kind of node.
[[nodiscard]] Hardware hardware_of(const Snapshot& snapshot);

// Adds to `evidence` the probes that recognition needed and that failed.
[[nodiscard]] std::vector<std::string> with_gaps(std::vector<std::string> evidence,
                                                 const Snapshot& snapshot);

// load_profile(), or a function that checks more.
using ReadProfile = Result<Profile> (*)(const ProfileSources& sources, std::string_view name);

// The name of a profile, and where it comes from.
struct Named {
  std::string profile;
  std::string evidence;
  std::string place;  // file and line, for errors; empty if it is not from a file
};

// Returns `name`, or the one in the site's muster.yaml. Nothing if there is neither: then the
// hardware decides.
[[nodiscard]] Attempt<std::optional<Named>> profile_name(const ProfileSources& sources,
                                                         const std::string& name);

[[nodiscard]] Attempt<Choice> named_profile(const ProfileSources& sources, Named named,
                                            ReadProfile read);

// `candidates` are those of read_candidates(), which needs no snapshot.
[[nodiscard]] Attempt<Choice> recognised_profile(const ProfileSources& sources,
                                                 const Result<Candidates>& candidates,
                                                 const Snapshot& snapshot, ReadProfile read);

}  // namespace muster
