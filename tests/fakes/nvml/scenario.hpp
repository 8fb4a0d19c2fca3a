// SPDX-License-Identifier: Apache-2.0
// What the fake NVML answers: the facts that a probe shall find, and what goes wrong on the way.
//
// As a file: the first line is the section `nvml` of a snapshot as JSON. A fact that is absent
// there is answered "not supported", one that is unreadable "unknown error". Each further line is
// one of
//   answer CALL [gpuN] CODE      this call (on this GPU) returns CODE
//   hang CALL [gpuN]             this call never returns
// and CALL is the name of a function, or * for every one that takes a GPU.
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

  // What the file says of a call; `gpu` is none for a call that takes no GPU.
  [[nodiscard]] std::optional<int> answer(std::string_view call, std::optional<unsigned> gpu) const;
  [[nodiscard]] bool hangs_in(std::string_view call, std::optional<unsigned> gpu) const;
};

[[nodiscard]] std::string to_text(const Scenario& scenario);
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text);

}  // namespace muster::fakes
