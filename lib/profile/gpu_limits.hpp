// SPDX-License-Identifier: Apache-2.0
// What a node's GPUs must be: one struct per check gpu.*, with its keys as they stand in a profile
// below `gpu.<name>`. The bus, recognition and physical ceilings read them too.
#pragma once

#include <string>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limit.hpp"
#include "lib/profile/xid_limits.hpp"

namespace muster {

struct GpuPresentLimits {
  Limit<int> count;
  Limit<std::string> model, vendor;
  Limit<Bytes> memory;
  Percent tolerance{};

  template <class Self = GpuPresentLimits>
  static constexpr auto fields() {
    return std::tuple{field("count", &Self::count, "GPUs"),
                      field("model", &Self::model, "NVML's name"),
                      field("vendor", &Self::vendor, "nvidia or amd"),
                      field("memory", &Self::memory, "memory of one GPU"),
                      field("tolerance", &Self::tolerance, "band around the memory, both ways")};
  }
};

struct GpuDriverLimits {
  Limit<std::string> minimum;
  Words allowed;

  template <class Self = GpuDriverLimits>
  static constexpr auto fields() {
    return std::tuple{field("minimum", &Self::minimum, "oldest driver, such as 535.161.08"),
                      field("allowed", &Self::allowed, "drivers that may be used, as globs")};
  }
};

// `enabled` in any check's block is the policy's word (run it at all), so a mode is `expected`.
struct GpuEccModeLimits {
  Limit<bool> expected;

  template <class Self = GpuEccModeLimits>
  static constexpr auto fields() {
    return std::tuple{field("expected", &Self::expected, "ECC mode; true for on")};
  }
};

struct GpuEccCorrectedLimits {
  Limit<int> dram_warn_above, sram_warn_above;

  template <class Self = GpuEccCorrectedLimits>
  static constexpr auto fields() {
    return std::tuple{field("dram_warn_above", &Self::dram_warn_above, "corrected errors"),
                      field("sram_warn_above", &Self::sram_warn_above, "corrected errors")};
  }
};

struct GpuRemappedRowsLimits {
  Limit<int> watch_above;

  template <class Self = GpuRemappedRowsLimits>
  static constexpr auto fields() {
    return std::tuple{field("watch_above", &Self::watch_above, "remapped rows")};
  }
};

struct GpuRetiredPagesLimits {
  Limit<int> fail_above;

  template <class Self = GpuRetiredPagesLimits>
  static constexpr auto fields() {
    return std::tuple{field("fail_above", &Self::fail_above, "retired pages")};
  }
};

struct GpuNvlinkLimits {
  Limit<int> links;
  Limit<BytesPerSecond> speed;

  template <class Self = GpuNvlinkLimits>
  static constexpr auto fields() {
    return std::tuple{field("links", &Self::links, "active links of one GPU"),
                      field("speed", &Self::speed, "of one link, each way")};
  }
};

struct GpuReplayLimits {
  Limit<double> warn_above_per_minute;

  template <class Self = GpuReplayLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("warn_above_per_minute", &Self::warn_above_per_minute, "PCIe replays per minute")};
  }
};

struct GpuClockLimits {
  Limit<Hertz> application_sm;

  template <class Self = GpuClockLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("application_sm", &Self::application_sm, "SM clock that applications may use")};
  }
};

struct GpuTemperatureLimits {
  Limit<Celsius> warn_above, fail_above, warn_margin_below;

  template <class Self = GpuTemperatureLimits>
  static constexpr auto fields() {
    return std::tuple{field("warn_above", &Self::warn_above, "GPU or memory temperature"),
                      field("fail_above", &Self::fail_above, "GPU or memory temperature"),
                      field("warn_margin_below",
                            &Self::warn_margin_below,
                            "distance to the GPU's own slowdown threshold")};
  }
};

struct GpuPowerLimits {
  Limit<Watts> limit;

  template <class Self = GpuPowerLimits>
  static constexpr auto fields() {
    return std::tuple{field("limit", &Self::limit, "enforced power limit")};
  }
};

struct GpuMigLimits {
  Limit<bool> expected;

  template <class Self = GpuMigLimits>
  static constexpr auto fields() {
    return std::tuple{field("expected", &Self::expected, "MIG mode; true for on")};
  }
};

struct GpuProcessLimits {
  Words allowed;

  template <class Self = GpuProcessLimits>
  static constexpr auto fields() {
    return std::tuple{field("allowed",
                            &Self::allowed,
                            "commands of the system that may use a GPU at any time, globs")};
  }
};

struct GpuMemoryUsedLimits {
  Limit<Bytes> warn_above, fail_above, driver_reserve;

  template <class Self = GpuMemoryUsedLimits>
  static constexpr auto fields() {
    return std::tuple{field("warn_above", &Self::warn_above, "memory in use without a process"),
                      field("fail_above", &Self::fail_above, "memory in use without a process"),
                      field("driver_reserve",
                            &Self::driver_reserve,
                            "added to both where the driver counts its own memory as used")};
  }
};

struct GpuP2pLimits {
  Limit<bool> expected;

  template <class Self = GpuP2pLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("expected", &Self::expected, "each GPU can read the memory of each other one")};
  }
};

struct GpuDirectRdmaLimits {
  Limit<bool> expected;

  template <class Self = GpuDirectRdmaLimits>
  static constexpr auto fields() {
    return std::tuple{field("expected",
                            &Self::expected,
                            "HCAs reach the memory of GPUs; not set: where both are expected")};
  }
};

struct GpuLimits {
  GpuPresentLimits present;
  GpuDriverLimits driver;
  GpuEccModeLimits ecc_mode;
  GpuEccCorrectedLimits ecc_corrected;
  GpuRemappedRowsLimits ecc_remapped_rows;
  GpuRetiredPagesLimits ecc_retired_pages;
  XidLimits xid;
  SxidLimits sxid;
  GpuNvlinkLimits nvlink_state;
  GpuReplayLimits pcie_replay;
  GpuClockLimits clocks;
  GpuTemperatureLimits temperature;
  GpuPowerLimits power;
  GpuMigLimits mig;
  GpuProcessLimits processes;
  GpuMemoryUsedLimits memory_used;
  GpuP2pLimits p2p;
  GpuDirectRdmaLimits direct_rdma;

  template <class Self = GpuLimits>
  static constexpr auto fields() {
    return std::tuple{field("present", &Self::present, ""),
                      field("driver", &Self::driver, ""),
                      field("ecc_mode", &Self::ecc_mode, ""),
                      field("ecc_corrected", &Self::ecc_corrected, ""),
                      field("ecc_remapped_rows", &Self::ecc_remapped_rows, ""),
                      field("ecc_retired_pages", &Self::ecc_retired_pages, ""),
                      field("xid", &Self::xid, ""),
                      field("sxid", &Self::sxid, ""),
                      field("nvlink_state", &Self::nvlink_state, ""),
                      field("pcie_replay", &Self::pcie_replay, ""),
                      field("clocks", &Self::clocks, ""),
                      field("temperature", &Self::temperature, ""),
                      field("power", &Self::power, ""),
                      field("mig", &Self::mig, ""),
                      field("processes", &Self::processes, ""),
                      field("memory_used", &Self::memory_used, ""),
                      field("p2p", &Self::p2p, ""),
                      field("direct_rdma", &Self::direct_rdma, "")};
  }
};

}  // namespace muster
