// SPDX-License-Identifier: Apache-2.0
#include "bench/run/own_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"

namespace muster::bench {

Result<Report> run_own(const std::vector<std::string>& words,
                       std::map<std::string, std::string> variables, Clock::time_point deadline) {
  std::erase_if(variables, [](const auto& variable) {
    constexpr std::array<std::string_view, 6> kLaunchers{"SLURM_", "OMPI_COMM_", "PMI_",
                                                         "PMIX_",  "RANK",       "WORLD_SIZE"};
    return std::ranges::any_of(
        kLaunchers, [&](std::string_view name) { return variable.first.starts_with(name); });
  });
  TRY_ASSIGN(const auto ended, run_program({.program = companion("muster-bench"),
                                            .arguments = words,
                                            .environment = std::move(variables),
                                            .limit = deadline}));
  auto report = parse_report(ended.out);
  if (report) return report;
  const auto lines = split_lines(ended.err);
  return make_error(fmt::format("it ended with status {}: {}", ended.status,
                                printable(lines.empty() ? "it said nothing" : lines.back(), 300)));
}

}  // namespace muster::bench
