// SPDX-License-Identifier: Apache-2.0
// The limits of the checks host.*, below `host` in a profile.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/profile/limits/cpu.hpp"
#include "lib/profile/limits/disks.hpp"
#include "lib/profile/limits/kernel.hpp"
#include "lib/profile/limits/kernel_log.hpp"
#include "lib/profile/limits/limit.hpp"
#include "lib/profile/limits/memory.hpp"
#include "lib/profile/limits/mounts.hpp"
#include "lib/profile/limits/network.hpp"
#include "lib/profile/limits/processes.hpp"
#include "lib/profile/limits/services.hpp"

namespace muster {

struct HostLimits {
  MUSTER_DESCRIBED(HostLimits);
  MUSTER_FIELD(CpuLimits, cpu, "");
  MUSTER_FIELD(MemoryLimits, memory, "");
  MUSTER_FIELD(MemoryAvailableLimits, memory_available, "");
  MUSTER_FIELD(SwapLimits, swap, "");
  MUSTER_FIELD(HugePagesLimits, hugepages, "");
  MUSTER_FIELD(EdacLimits, edac, "");
  MUSTER_FIELD(KernelLogLimits, kernel_log, "");
  MUSTER_FIELD(KernelLimits, kernel, "");
  MUSTER_FIELD(SysctlLimits, sysctl, "");
  MUSTER_FIELD(ResourceLimits, limits, "");
  MUSTER_FIELD(ClockLimits, clock, "");
  MUSTER_FIELD(LoadLimits, load, "");
  MUSTER_FIELD(StuckTaskLimits, stuck_tasks, "");
  MUSTER_FIELD(MountLimits, mounts, "");
  MUSTER_FIELD(DiskLimits, disk, "");
  MUSTER_FIELD(NvmeLimits, nvme, "");
  MUSTER_FIELD(ServiceLimits, services, "");
  MUSTER_FIELD(ModuleLimits, modules, "");
  MUSTER_FIELD(EthernetLimits, ethernet, "");
  MUSTER_FIELD(ProgramLimits, programs, "");
  MUSTER_FIELD(ContainerStorageLimits, container_storage, "");
};

}  // namespace muster
