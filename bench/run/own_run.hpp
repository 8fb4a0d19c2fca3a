// SPDX-License-Identifier: Apache-2.0
// This program once more, as a process of its own beside a run.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

// Adds the profile, its settings and the libraries that this run was given, for the other one.
template <class Given>
void hand_on(const Given& given, std::vector<std::string>& words) {
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("{}={}", name, value));
  };
  add("--profile", given.profile);
  add("--cuda", given.cuda);
  add("--nccl", given.nccl);
  for (const auto& setting : given.settings) add("--set", setting);
}

// `words` ask for a report as JSON. Of `variables`, what a launcher says of a job is left out. An
// error says how it ended, and with what words.
[[nodiscard]] Result<Report> run_own(const std::vector<std::string>& words,
                                     std::map<std::string, std::string> variables,
                                     Clock::time_point deadline);

}  // namespace muster::bench
