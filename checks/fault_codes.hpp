// SPDX-License-Identifier: Apache-2.0
// Azure's fault codes for what a check calls a failure, and the impact categories that a report to
// Azure files them under. Both are only ever given to a failure: what could not be judged is never
// reported as a hardware fault.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

inline constexpr std::array kFaultCodes{
    std::pair<std::string_view, std::string_view>{"host.cpu", "NHC2022"},
    std::pair<std::string_view, std::string_view>{"host.memory", "NHC2022"},
    std::pair<std::string_view, std::string_view>{"host.nvme", "NHC2023"},
    std::pair<std::string_view, std::string_view>{"pci.devices", "NHC2013"},
    std::pair<std::string_view, std::string_view>{"gpu.present", "NHC2009"},
    std::pair<std::string_view, std::string_view>{"gpu.driver", "NHC2015"},
    std::pair<std::string_view, std::string_view>{"gpu.ecc_uncorrectable", "NHC2019"},
    std::pair<std::string_view, std::string_view>{"gpu.ecc_sram", "NHC2019"},
    std::pair<std::string_view, std::string_view>{"gpu.ecc_corrected", "NHC2019"},
    std::pair<std::string_view, std::string_view>{"gpu.ecc_remapped_rows", "NHC2007"},
    std::pair<std::string_view, std::string_view>{"gpu.ecc_retired_pages", "NHC2018"},
    std::pair<std::string_view, std::string_view>{"gpu.xid", "NHC2001"},
    std::pair<std::string_view, std::string_view>{"gpu.sxid", "NHC2016"},
    std::pair<std::string_view, std::string_view>{"gpu.nvlink_state", "NHC2016"},
    std::pair<std::string_view, std::string_view>{"gpu.nvlink_errors", "NHC2016"},
    std::pair<std::string_view, std::string_view>{"gpu.fabric", "NHC2016"},
    std::pair<std::string_view, std::string_view>{"gpu.temperature", "NHC2017"},
    std::pair<std::string_view, std::string_view>{"ib.present", "NHC2002"},
    std::pair<std::string_view, std::string_view>{"ib.state", "NHC2004"},
    std::pair<std::string_view, std::string_view>{"ib.flaps", "NHC2005"},
    std::pair<std::string_view, std::string_view>{"ib.rate", "NHC2003"},
    std::pair<std::string_view, std::string_view>{"ib.errors", "NHC2003"},
    std::pair<std::string_view, std::string_view>{"topo.numa", "NHC2010"},
    std::pair<std::string_view, std::string_view>{"topo.pairing", "NHC2010"},
};

// Below Resource.Hpc.Unhealthy.
inline constexpr std::array kImpactCategories{
    std::pair<std::string_view, std::string_view>{"NHC2001", "HpcGenericFailure"},
    std::pair<std::string_view, std::string_view>{"NHC2002", "MissingIB"},
    std::pair<std::string_view, std::string_view>{"NHC2003", "IBPerformance"},
    std::pair<std::string_view, std::string_view>{"NHC2004", "IBPortDown"},
    std::pair<std::string_view, std::string_view>{"NHC2005", "IBPortFlapping"},
    std::pair<std::string_view, std::string_view>{"NHC2007", "HpcRowRemapFailure"},
    std::pair<std::string_view, std::string_view>{"NHC2008", "HpcInforomCorruption"},
    std::pair<std::string_view, std::string_view>{"NHC2009", "HpcMissingGpu"},
    std::pair<std::string_view, std::string_view>{"NHC2010", "ManualInvestigation"},
    std::pair<std::string_view, std::string_view>{"NHC2011", "XID95UncontainedECCError"},
    std::pair<std::string_view, std::string_view>{"NHC2012", "XID94ContainedECCError"},
    std::pair<std::string_view, std::string_view>{"NHC2013", "XID79FallenOffBus"},
    std::pair<std::string_view, std::string_view>{"NHC2014", "XID48DoubleBitECC"},
    std::pair<std::string_view, std::string_view>{"NHC2015", "UnhealthyGPUNvidiasmi"},
    std::pair<std::string_view, std::string_view>{"NHC2016", "NvLink"},
    std::pair<std::string_view, std::string_view>{"NHC2017", "HpcDcgmiThermalReport"},
    std::pair<std::string_view, std::string_view>{"NHC2018", "ECCPageRetirementTableFull"},
    std::pair<std::string_view, std::string_view>{"NHC2019", "DBEOverLimit"},
    std::pair<std::string_view, std::string_view>{"NHC2020", "HpcGpuDcgmDiagFailure"},
    std::pair<std::string_view, std::string_view>{"NHC2021", "GPUMemoryBWFailure"},
    std::pair<std::string_view, std::string_view>{"NHC2022", "CPUPerformance"},
    std::pair<std::string_view, std::string_view>{"NHC2023", "HpcGenericFailure"},
};

// Empty where Azure has no code for the check.
[[nodiscard]] constexpr std::string_view fault_code(std::string_view check) {
  const auto* found = std::ranges::find(kFaultCodes, check, [](const auto& e) { return e.first; });
  return found == kFaultCodes.end() ? std::string_view() : found->second;
}

// The whole name; empty for a code that has none.
[[nodiscard]] inline std::string impact_category(std::string_view code) {
  const auto* found =
      std::ranges::find(kImpactCategories, code, [](const auto& e) { return e.first; });
  if (found == kImpactCategories.end()) return {};
  return "Resource.Hpc.Unhealthy." + std::string(found->second);
}

}  // namespace muster
