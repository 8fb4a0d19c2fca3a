// SPDX-License-Identifier: Apache-2.0
// Azure's fault codes for what a check calls a failure. A code is only ever given to a failure:
// what could not be judged is never reported as a hardware fault.
#pragma once

#include <algorithm>
#include <array>
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
    std::pair<std::string_view, std::string_view>{"gpu.temperature", "NHC2017"},
    std::pair<std::string_view, std::string_view>{"ib.present", "NHC2002"},
    std::pair<std::string_view, std::string_view>{"ib.state", "NHC2004"},
    std::pair<std::string_view, std::string_view>{"ib.flaps", "NHC2005"},
    std::pair<std::string_view, std::string_view>{"ib.rate", "NHC2003"},
    std::pair<std::string_view, std::string_view>{"ib.errors", "NHC2003"},
    std::pair<std::string_view, std::string_view>{"topo.numa", "NHC2010"},
    std::pair<std::string_view, std::string_view>{"topo.pairing", "NHC2010"},
};

// Empty where Azure has no code for the check.
[[nodiscard]] constexpr std::string_view fault_code(std::string_view check) {
  const auto* found = std::ranges::find(kFaultCodes, check, [](const auto& e) { return e.first; });
  return found == kFaultCodes.end() ? std::string_view() : found->second;
}

}  // namespace muster
