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

struct GpuFirmwareLimits {
  Words vbios, inforom;

  template <class Self = GpuFirmwareLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("vbios", &Self::vbios, "VBIOS versions that may be used, as globs; empty for any"),
        field("inforom",
              &Self::inforom,
              "InfoROM image versions that may be used, as globs; empty for any")};
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

struct GpuNvlinkErrorLimits {
  Limit<double> crc_fail_from_per_second, ber_fail_above;
  Limit<int> replays_warn_above, recoveries_warn_above;
  Seconds window{};

  template <class Self = GpuNvlinkErrorLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("crc_fail_from_per_second",
              &Self::crc_fail_from_per_second,
              "CRC errors of a link per second, on average over the last hour, that fail"),
        field("ber_fail_above", &Self::ber_fail_above, "effective bit error rate of a link"),
        field("replays_warn_above", &Self::replays_warn_above, "replays of a link in the window"),
        field("recoveries_warn_above",
              &Self::recoveries_warn_above,
              "recoveries of a link in the window"),
        field("window", &Self::window, "how far back replays and recoveries count")};
  }
};

struct GpuReplayLimits {
  Limit<double> warn_above_per_minute;

  template <class Self = GpuReplayLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("warn_above_per_minute",
              &Self::warn_above_per_minute,
              "PCIe replays per minute, on average over the last hour; else by the link's speed")};
  }
};

struct GpuClockLimits {
  Limit<Hertz> application_sm;

  template <class Self = GpuClockLimits>
  static constexpr auto fields() {
    return std::tuple{field("application_sm",
                            &Self::application_sm,
                            "SM clock that applications may use; else the GPU's own default")};
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
    return std::tuple{
        field("limit", &Self::limit, "enforced power limit; else the GPU's own default")};
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
    return std::tuple{field(
        "allowed", &Self::allowed, "commands of the system that may use a GPU at any time, globs")};
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

struct GpuComputeModeLimits {
  Limit<std::string> expected;

  template <class Self = GpuComputeModeLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("expected", &Self::expected, "default, exclusive_process or prohibited")};
  }
};

struct GpuLimits {
  GpuPresentLimits present;
  GpuDriverLimits driver;
  GpuFirmwareLimits firmware;
  GpuEccModeLimits ecc_mode;
  GpuEccCorrectedLimits ecc_corrected;
  GpuRemappedRowsLimits ecc_remapped_rows;
  GpuRetiredPagesLimits ecc_retired_pages;
  XidLimits xid;
  SxidLimits sxid;
  GpuNvlinkLimits nvlink_state;
  GpuNvlinkErrorLimits nvlink_errors;
  GpuReplayLimits pcie_replay;
  GpuClockLimits clocks;
  GpuTemperatureLimits temperature;
  GpuPowerLimits power;
  GpuMigLimits mig;
  GpuProcessLimits processes;
  GpuMemoryUsedLimits memory_used;
  GpuP2pLimits p2p;
  GpuDirectRdmaLimits direct_rdma;
  GpuComputeModeLimits compute_mode;

  template <class Self = GpuLimits>
  static constexpr auto fields() {
    return std::tuple{field("present", &Self::present, ""),
                      field("driver", &Self::driver, ""),
                      field("firmware", &Self::firmware, ""),
                      field("ecc_mode", &Self::ecc_mode, ""),
                      field("ecc_corrected", &Self::ecc_corrected, ""),
                      field("ecc_remapped_rows", &Self::ecc_remapped_rows, ""),
                      field("ecc_retired_pages", &Self::ecc_retired_pages, ""),
                      field("xid", &Self::xid, ""),
                      field("sxid", &Self::sxid, ""),
                      field("nvlink_state", &Self::nvlink_state, ""),
                      field("nvlink_errors", &Self::nvlink_errors, ""),
                      field("pcie_replay", &Self::pcie_replay, ""),
                      field("clocks", &Self::clocks, ""),
                      field("temperature", &Self::temperature, ""),
                      field("power", &Self::power, ""),
                      field("mig", &Self::mig, ""),
                      field("processes", &Self::processes, ""),
                      field("memory_used", &Self::memory_used, ""),
                      field("p2p", &Self::p2p, ""),
                      field("direct_rdma", &Self::direct_rdma, ""),
                      field("compute_mode", &Self::compute_mode, "")};
  }
};

}  // namespace muster
