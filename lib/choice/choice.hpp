// SPDX-License-Identifier: Apache-2.0
// Which profile a run judges by: the one that it names, the one that the site names, or the one
// that the hardware calls for.
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

// The folder with what is installed beside the programs: MUSTER_DATA_DIR, else share/muster beside
// the program's bin.
[[nodiscard]] std::filesystem::path data_folder(
    const std::map<std::string, std::string>& variables);

// The shipped profiles are those that the program carries, or those in MUSTER_DATA_DIR where the
// environment names it; the site's are in /etc/muster below `root`.
[[nodiscard]] ProfileSources sources_of(const std::map<std::string, std::string>& variables,
                                        std::string_view root, std::vector<std::string> settings);

// What a snapshot tells about the hardware, as far as it tells the node's kind.
[[nodiscard]] Hardware hardware_of(const Snapshot& snapshot);

// `evidence`, and what recognition could not be told because a probe failed.
[[nodiscard]] std::vector<std::string> with_gaps(std::vector<std::string> evidence,
                                                 const Snapshot& snapshot);

// load_profile, or what checks more than that.
using ReadProfile = Result<Profile> (*)(const ProfileSources& sources, std::string_view name);

// A profile's name, and who said it.
struct Named {
  std::string profile;
  std::string evidence;
  std::string place;  // in a file, where one names it: what errors begin with
};

// `name`, or where that is empty the one that the site's muster.yaml names. Nothing when nobody
// names one: then the hardware has to tell.
[[nodiscard]] Attempt<std::optional<Named>> profile_name(const ProfileSources& sources,
                                                         const std::string& name);

[[nodiscard]] Attempt<Choice> named_profile(const ProfileSources& sources, Named named,
                                            ReadProfile read);

// `candidates`: as read_candidates reads them, which needs no snapshot.
[[nodiscard]] Attempt<Choice> recognised_profile(const ProfileSources& sources,
                                                 const Result<Candidates>& candidates,
                                                 const Snapshot& snapshot, ReadProfile read);

}  // namespace muster
