// SPDX-License-Identifier: Apache-2.0
// The Azure impact category of each fault code. Only failures have codes and categories: a check
// that could not judge is never reported as a hardware fault.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

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

// The full name; empty for an unknown code.
[[nodiscard]] inline std::string impact_category(std::string_view code) {
  const auto* found =
      std::ranges::find(kImpactCategories, code, [](const auto& e) { return e.first; });
  if (found == kImpactCategories.end()) return {};
  return "Resource.Hpc.Unhealthy." + std::string(found->second);
}

}  // namespace muster
