// SPDX-License-Identifier: Apache-2.0
// Chooses the profile that the nodes are judged by, and applies its settings to this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "bench/model/cluster.hpp"
#include "lib/base/root.hpp"
#include "lib/probes/probes.hpp"
#include "lib/profile/choice.hpp"

namespace muster::bench {

// Returns the named profile, the site's, or the one that this node's hardware matches.
[[nodiscard]] Attempt<Choice> choose_profile(const std::string& name,
                                             const std::vector<std::string>& settings,
                                             const Variables& variables);

// The cluster that --sim describes: of its `profile=`, else of the hardware of the profile that
// judges.
[[nodiscard]] Attempt<SimCluster> choose_cluster(const std::string& sim, const Profile& judging,
                                                 const Variables& variables);

// Asks NVML in a child process, which may take as long as eight GPUs without persistence mode need.
[[nodiscard]] Section<Nvml> ask_nvml(const NvmlOptions& nvml, const Variables& variables);

// "CLUSTER:CLIQUE" of GPUs that are all registered in the same NVLink domain; else empty.
[[nodiscard]] std::string domain_of(const std::vector<muster::Gpu>& gpus);

// Returns the NVLink domain that all GPUs of this node belong to, if the profile has a limit for
// jobs inside one; else empty.
[[nodiscard]] std::string read_nvlink_domain(const Profile& profile, const Variables& variables);

struct Settings {
  std::vector<std::string> applied;   // NAME=value
  std::vector<std::string> left_out;  // and why
};

// Sets the profile's variables for NCCL, UCX and Open MPI in this process's environment. Keeps the
// user's variables and those of nccl.conf. Leaves out a variable that names a file or interface
// that does not exist below `root`. UCX's are for NCCL only: over MPI they would choose its
// transport.
[[nodiscard]] Settings apply_settings(const Profile& profile, BackendKind kind,
                                      Variables& variables, const Root& root = Root());

// The job's own setting that makes NCCL use only a part of a node, "NCCL_P2P_DISABLE=1"; empty if
// it sets none, or as the profile does.
[[nodiscard]] std::string limiting_setting(const Profile& profile, const Variables& variables);
[[nodiscard]] Variables without_limiting_settings(Variables variables);

// "environment: the job's own", or "environment: set for PROFILE: NAME=value ...", for the report.
[[nodiscard]] std::string sentence_of(const Settings& settings, std::string_view profile);

// Open MPI 4 takes 0.2 s to find that there is no fabric for PSM, PSM2 and libfabric. Tells it not
// to look if the kernel has no such device, unless the user has chosen. Returns the variable that
// was set and why, or an empty text.
[[nodiscard]] std::string spare_fabric_search(const Variables& variables,
                                              const Root& root = Root());

}  // namespace muster::bench
