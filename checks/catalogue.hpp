// SPDX-License-Identifier: Apache-2.0
// All checks, in the order of reports. The declarations and the table are generated from this list.
#pragma once

#include <array>

#include "checks/check.hpp"

// clang-format off
#define MUSTER_CHECKS(X) \
  X(host, cpu) X(host, memory) X(host, memory_available) X(host, swap)                \
  X(host, hugepages) X(host, edac) X(host, temperature) X(host, kernel_log)           \
  X(host, kernel) X(host, sysctl) X(host, limits) X(host, clock) X(host, load)        \
  X(host, stuck_tasks) X(host, mounts) X(host, disk) X(host, nvme) X(host, services)  \
  X(host, modules) X(host, ethernet) X(host, programs) X(host, container_storage)     \
  X(pci, devices) X(pci, link) X(pci, errors) X(pci, acs) X(pci, payload)             \
  X(gpu, present) X(gpu, driver) X(gpu, firmware) X(gpu, ecc_mode)                    \
  X(gpu, ecc_uncorrectable) X(gpu, ecc_sram) X(gpu, ecc_corrected)                    \
  X(gpu, ecc_remapped_rows) X(gpu, ecc_retired_pages) X(gpu, xid) X(gpu, sxid)        \
  X(gpu, recovery_action) X(gpu, nvlink_state) X(gpu, nvlink_errors) X(gpu, fabric)   \
  X(gpu, pcie_replay) X(gpu, clocks) X(gpu, temperature) X(gpu, power)                \
  X(gpu, persistence) X(gpu, ras) X(gpu, amd) X(gpu, mig) X(gpu, compute_mode)        \
  X(gpu, processes) X(gpu, memory_used) X(gpu, p2p) X(gpu, direct_rdma)               \
  X(ib, present) X(ib, state) X(ib, rate) X(ib, firmware) X(ib, pkey) X(ib, address)  \
  X(ib, mtu) X(ib, errors) X(ib, ber) X(ib, flaps) X(ib, netdev) X(ib, verbs)         \
  X(topo, numa) X(topo, pairing) X(topo, nvlink_matrix) X(topo, nccl_file)            \
  X(topo, virtual)                                                                    \
  X(env, nccl) X(env, libraries)                                                      \
  X(muster, probes) X(muster, state)
// clang-format on

namespace muster::checks {

#define MUSTER_DECLARE_CHECK(group, name) \
  namespace group##_##name {              \
    extern const Check check;             \
  }
MUSTER_CHECKS(MUSTER_DECLARE_CHECK)
#undef MUSTER_DECLARE_CHECK

#define MUSTER_CHECK_ADDRESS(group, name) &group##_##name::check,
inline constexpr std::array kAll{MUSTER_CHECKS(MUSTER_CHECK_ADDRESS)};
#undef MUSTER_CHECK_ADDRESS

}  // namespace muster::checks
