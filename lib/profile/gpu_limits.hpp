// SPDX-License-Identifier: Apache-2.0
// What a node's GPUs must be: one struct per check gpu.*, with its keys as they stand in a profile
// below `gpu.<name>`. The bus, recognition and physical ceilings read them too.
#pragma once

#include <string>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limit.hpp"

namespace muster {

struct GpuPresentLimits {
  Limit<int> count;
  Limit<std::string> model, vendor;
  Limit<Bytes> memory;
  Percent tolerance{};

  static constexpr auto fields() {
    return std::tuple{
        field("count", &GpuPresentLimits::count, "GPUs"),
        field("model", &GpuPresentLimits::model, "NVML's name"),
        field("vendor", &GpuPresentLimits::vendor, "nvidia or amd"),
        field("memory", &GpuPresentLimits::memory, "memory of one GPU"),
        field("tolerance", &GpuPresentLimits::tolerance, "band around the memory, both ways")};
  }
};

// `enabled` in any check's block is the policy's word (run it at all), so a mode is `expected`.
struct GpuEccModeLimits {
  Limit<bool> expected;

  static constexpr auto fields() {
    return std::tuple{field("expected", &GpuEccModeLimits::expected, "ECC mode; true for on")};
  }
};

struct GpuEccCorrectedLimits {
  Limit<int> dram_warn_above, sram_warn_above;

  static constexpr auto fields() {
    return std::tuple{
        field("dram_warn_above", &GpuEccCorrectedLimits::dram_warn_above, "corrected errors"),
        field("sram_warn_above", &GpuEccCorrectedLimits::sram_warn_above, "corrected errors")};
  }
};

struct GpuRemappedRowsLimits {
  Limit<int> watch_above;

  static constexpr auto fields() {
    return std::tuple{field("watch_above", &GpuRemappedRowsLimits::watch_above, "remapped rows")};
  }
};

struct GpuRetiredPagesLimits {
  Limit<int> fail_above;

  static constexpr auto fields() {
    return std::tuple{field("fail_above", &GpuRetiredPagesLimits::fail_above, "retired pages")};
  }
};

struct GpuNvlinkLimits {
  Limit<int> links;
  Limit<BytesPerSecond> speed;

  static constexpr auto fields() {
    return std::tuple{field("links", &GpuNvlinkLimits::links, "active links of one GPU"),
                      field("speed", &GpuNvlinkLimits::speed, "of one link, each way")};
  }
};

struct GpuReplayLimits {
  Limit<double> warn_above_per_minute;

  static constexpr auto fields() {
    return std::tuple{field("warn_above_per_minute",
                            &GpuReplayLimits::warn_above_per_minute,
                            "PCIe replays per minute")};
  }
};

struct GpuClockLimits {
  Limit<Hertz> application_sm;

  static constexpr auto fields() {
    return std::tuple{field(
        "application_sm", &GpuClockLimits::application_sm, "SM clock that applications may use")};
  }
};

struct GpuTemperatureLimits {
  Limit<Celsius> warn_above, fail_above, warn_margin_below;

  static constexpr auto fields() {
    return std::tuple{
        field("warn_above", &GpuTemperatureLimits::warn_above, "GPU or memory temperature"),
        field("fail_above", &GpuTemperatureLimits::fail_above, "GPU or memory temperature"),
        field("warn_margin_below",
              &GpuTemperatureLimits::warn_margin_below,
              "distance to the GPU's own slowdown threshold")};
  }
};

struct GpuPowerLimits {
  Limit<Watts> limit;

  static constexpr auto fields() {
    return std::tuple{field("limit", &GpuPowerLimits::limit, "enforced power limit")};
  }
};

struct GpuMigLimits {
  Limit<bool> expected;

  static constexpr auto fields() {
    return std::tuple{field("expected", &GpuMigLimits::expected, "MIG mode; true for on")};
  }
};

struct GpuLimits {
  GpuPresentLimits present;
  GpuEccModeLimits ecc_mode;
  GpuEccCorrectedLimits ecc_corrected;
  GpuRemappedRowsLimits ecc_remapped_rows;
  GpuRetiredPagesLimits ecc_retired_pages;
  GpuNvlinkLimits nvlink_state;
  GpuReplayLimits pcie_replay;
  GpuClockLimits clocks;
  GpuTemperatureLimits temperature;
  GpuPowerLimits power;
  GpuMigLimits mig;

  static constexpr auto fields() {
    return std::tuple{field("present", &GpuLimits::present, ""),
                      field("ecc_mode", &GpuLimits::ecc_mode, ""),
                      field("ecc_corrected", &GpuLimits::ecc_corrected, ""),
                      field("ecc_remapped_rows", &GpuLimits::ecc_remapped_rows, ""),
                      field("ecc_retired_pages", &GpuLimits::ecc_retired_pages, ""),
                      field("nvlink_state", &GpuLimits::nvlink_state, ""),
                      field("pcie_replay", &GpuLimits::pcie_replay, ""),
                      field("clocks", &GpuLimits::clocks, ""),
                      field("temperature", &GpuLimits::temperature, ""),
                      field("power", &GpuLimits::power, ""),
                      field("mig", &GpuLimits::mig, "")};
  }
};

}  // namespace muster
