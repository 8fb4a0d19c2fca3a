// SPDX-License-Identifier: Apache-2.0
// The probes: plain functions that each observe one part of the machine below a root, and judge
// nothing. observe.hpp runs them in children, concurrently and with deadlines.
#pragma once

#include <sys/statfs.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/process/startup.hpp"

namespace muster {

// Children of earlier runs that hang in the kernel and cannot be killed. Their work is not
// repeated, so that they do not pile up.

// The prefix of the names (comm) of our children.
inline constexpr std::string_view kOwnName = "muster:";

struct LeftBehind {
  std::uint64_t pid = 0;
  std::string work;    // as announced
  Fact<double> for_s;  // time since the child was started
};

// Publishes a child's work for later runs; called before work that may hang.
void announce_work(std::string_view work);

// Whether the process or thread in a folder of /proc runs a program named muster.
[[nodiscard]] bool runs_muster(const Root& root, const std::string& folder);

// Returns this user's processes of earlier runs that hang on this host. Searches all processes,
// unless there is no `state_file` or its folder shows that nothing was left behind.
[[nodiscard]] std::vector<LeftBehind> find_left_behind(
    const std::optional<std::filesystem::path>& state_file);

// The facts that a profile needs in addition to those that probes always read.
struct Wanted {
  std::vector<std::string> sysctls;    // "vm.zone_reclaim_mode"
  std::vector<std::string> files;      // programs and paths whose existence and space matter
  std::vector<std::string> libraries;  // sonames to open
  std::string nccl_topology;           // the topology file the profile names; empty when none
  std::chrono::milliseconds statfs_deadline{2000};
};

// How to query NVML.
struct NvmlOptions {
  std::string library;  // replaces the driver's; empty: the driver's
  NvmlParts parts = NvmlParts::all();
};

[[nodiscard]] Section<Identity> probe_identity(const Root& root);
// Returns the container that this process runs in; absent outside of containers, and in one that
// shares all namespaces with the node.
[[nodiscard]] Fact<Container> read_container(const Root& root);
// Returns the namespaces of this process that are not known to be the node's.
[[nodiscard]] std::vector<std::string> foreign_namespaces(const Root& root);
// Returns the node's own name; empty if it cannot be read.
[[nodiscard]] std::string read_hostname(const Root& root);
[[nodiscard]] Section<Cpu> probe_cpu(const Root& root);
[[nodiscard]] Section<Memory> probe_memory(const Root& root);
// Skips mounts in which a child of an earlier run still hangs.
[[nodiscard]] Section<Mounts> probe_mounts(const Root& root,
                                           std::chrono::milliseconds statfs_deadline,
                                           const std::vector<LeftBehind>& left = {});
[[nodiscard]] Section<Disks> probe_disks(const Root& root);
[[nodiscard]] Section<Processes> probe_processes(const Root& root);
[[nodiscard]] Section<Kernel> probe_kernel(const Root& root,
                                           const std::vector<std::string>& sysctls);
[[nodiscard]] Section<KernelLog> probe_kernel_log(const Root& root);
[[nodiscard]] Section<Services> probe_services(const Root& root);
[[nodiscard]] Section<Network> probe_network(const Root& root);
[[nodiscard]] Section<Pci> probe_pci(const Root& root);
[[nodiscard]] Section<Infiniband> probe_infiniband(const Root& root, bool link_errors = false);
[[nodiscard]] Section<Verbs> probe_verbs(const Root& root);
[[nodiscard]] Section<Topology> probe_topology(const Root& root);
// `variables` is the caller's environment; only named variables are recorded.
[[nodiscard]] Section<Environment> probe_environment(const Root& root, const Wanted& wanted,
                                                     const Variables& variables);
// A GPU that does not answer by the deadline loses only its own facts.
[[nodiscard]] Section<Nvml> probe_nvml(const Root& root, const NvmlOptions& options,
                                       Clock::time_point deadline);

// The space of many file systems, any of which may hang forever (a dead NFS server).

[[nodiscard]] Space space_of(const struct statfs& status);

using AskSpace = std::function<Result<Space>(const std::string& point)>;

// Returns a mount for each point, in order, with its space and whether it hangs or was not asked.
// `ask` runs in a child for all points; if that fails, `announce_and_ask` runs in a child for each
// point. Takes two deadlines for up to 64 points, and one more for each further 64, at most five:
// points that were not reached by then are unreadable.
[[nodiscard]] std::vector<Mount> ask_spaces(const std::vector<std::string>& points,
                                            std::chrono::milliseconds deadline, const AskSpace& ask,
                                            const AskSpace& announce_and_ask);

}  // namespace muster
