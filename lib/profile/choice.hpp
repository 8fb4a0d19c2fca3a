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

#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/report.hpp"

namespace muster {

using GpuIds = std::map<std::string, int>;  // vendor:device to the count on the bus

// The facts for recognition, which the caller takes from a snapshot. A fact that is not set could
// not be observed: it neither matches nor excludes a profile.
struct Hardware {
  std::optional<std::string> chassis_asset_tag;
  std::optional<std::string> dmi_vendor;
  std::optional<std::string> dmi_product;
  std::optional<GpuIds> gpu_pci_ids;
  std::optional<int> infiniband_hcas;  // on the bus, or RDMA devices other than Ethernet
  std::optional<int> nvme_disks;
  std::optional<int> nvswitches;
  std::optional<int> cores;
  std::optional<double> memory_bytes;        // MemTotal
  std::optional<std::string> instance_size;  // the cloud's name for it
};

struct Recognised {
  std::string profile;                // "generic" if no profile matches, or several do
  std::vector<std::string> evidence;  // "8 x 10de:2330", "no profile matches"
};

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

struct Choice {
  Profile profile;
  std::vector<std::string> evidence;  // how it was chosen
  bool bare = false;  // the node has neither a GPU nor an HCA; false if they were not observed
};

// The folder of installed data: MUSTER_DATA_DIR, else share/muster next to the program's bin.
[[nodiscard]] std::filesystem::path data_folder(
    const std::map<std::string, std::string>& variables);

// The shipped profiles are built into the program, unless MUSTER_DATA_DIR is set; the site's are in
// /etc/muster below `root`.
[[nodiscard]] ProfileSources sources_of(const std::map<std::string, std::string>& variables,
                                        std::string_view root, std::vector<std::string> settings);

// Whether the node has neither a GPU nor an HCA. False if either could not be observed.
[[nodiscard]] bool is_bare(const Hardware& hardware);

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
