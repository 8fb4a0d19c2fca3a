// SPDX-License-Identifier: Apache-2.0
// The probes: plain functions that each observe one part of the machine below a root, and judge
// nothing. observe.hpp runs them in children, concurrently and with deadlines.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/left_behind.hpp"
#include "lib/process/startup.hpp"

namespace muster {

// The facts that a profile needs in addition to those that probes always read.
struct Wanted {
  std::vector<std::string> sysctls;    // "vm.zone_reclaim_mode"
  std::vector<std::string> files;      // programs and paths whose existence and space matter
  std::vector<std::string> libraries;  // sonames to open
  std::string nccl_topology;           // the topology file the profile names; empty when none
  std::chrono::milliseconds statfs_deadline{2000};
};

// How NVML is asked.
struct NvmlOptions {
  std::string library;  // in place of the driver's; empty for that
  NvmlParts parts = NvmlParts::all();
};

[[nodiscard]] Section<Identity> probe_identity(const Root& root);
// The node's own name; empty where it cannot be read.
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
// The facts of the amdgpu driver about the GPU at a PCI address.
[[nodiscard]] AmdGpu read_amd_gpu(const Root& root, std::string_view address);
[[nodiscard]] Section<Infiniband> probe_infiniband(const Root& root, bool link_errors = false);
[[nodiscard]] Section<Verbs> probe_verbs(const Root& root);
[[nodiscard]] Section<Topology> probe_topology(const Root& root);
// `variables` is the caller's environment; only named variables are recorded.
[[nodiscard]] Section<Environment> probe_environment(const Root& root, const Wanted& wanted,
                                                     const Variables& variables);
// A GPU that does not answer by the deadline loses only its own facts.
[[nodiscard]] Section<Nvml> probe_nvml(const Root& root, const NvmlOptions& options,
                                       Clock::time_point deadline);

}  // namespace muster
