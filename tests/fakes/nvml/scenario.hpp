// SPDX-License-Identifier: Apache-2.0
// The answers of the fake NVML: the facts that a probe should find, and its errors.
//
// In its file, the first line is the section `nvml` of a snapshot as JSON. An absent fact there is
// answered "not supported", an unreadable one "unknown error". Each further line is one of
//    answer CALL [gpuN] CODE      this call (on this GPU) returns CODE
//    hang CALL [gpuN]             this call never returns
// where CALL is the name of a function that muster calls, or * for all that take a GPU. Other
// lines, calls and GPUs are refused.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/node/gpu.hpp"

namespace muster::fakes {

struct Scenario {
  Nvml nvml;
  std::map<std::string, int> answers;  // by "CALL" or "CALL gpuN"
  std::set<std::string> hangs;

  // The line about a call, if any; `gpu` is empty for a call that takes no GPU.
  [[nodiscard]] std::optional<int> answer(std::string_view call, std::optional<unsigned> gpu) const;
  [[nodiscard]] bool hangs_in(std::string_view call, std::optional<unsigned> gpu) const;
};

[[nodiscard]] std::string to_text(const Scenario& scenario);
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text);

}  // namespace muster::fakes
