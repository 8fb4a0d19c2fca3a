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
  CpuLimits cpu;
  MemoryLimits memory;
  MemoryAvailableLimits memory_available;
  SwapLimits swap;
  HugePagesLimits hugepages;
  EdacLimits edac;
  KernelLogLimits kernel_log;
  KernelLimits kernel;
  SysctlLimits sysctl;
  ResourceLimits limits;
  ClockLimits clock;
  LoadLimits load;
  StuckTaskLimits stuck_tasks;
  MountLimits mounts;
  DiskLimits disk;
  NvmeLimits nvme;
  ServiceLimits services;
  ModuleLimits modules;
  EthernetLimits ethernet;
  ProgramLimits programs;
  ContainerStorageLimits container_storage;

  MUSTER_FIELDS(HostLimits,
                MUSTER_FIELD(cpu, ""),
                MUSTER_FIELD(memory, ""),
                MUSTER_FIELD(memory_available, ""),
                MUSTER_FIELD(swap, ""),
                MUSTER_FIELD(hugepages, ""),
                MUSTER_FIELD(edac, ""),
                MUSTER_FIELD(kernel_log, ""),
                MUSTER_FIELD(kernel, ""),
                MUSTER_FIELD(sysctl, ""),
                MUSTER_FIELD(limits, ""),
                MUSTER_FIELD(clock, ""),
                MUSTER_FIELD(load, ""),
                MUSTER_FIELD(stuck_tasks, ""),
                MUSTER_FIELD(mounts, ""),
                MUSTER_FIELD(disk, ""),
                MUSTER_FIELD(nvme, ""),
                MUSTER_FIELD(services, ""),
                MUSTER_FIELD(modules, ""),
                MUSTER_FIELD(ethernet, ""),
                MUSTER_FIELD(programs, ""),
                MUSTER_FIELD(container_storage, ""));
};

}  // namespace muster
