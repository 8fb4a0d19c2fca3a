// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/accounting.hpp"

#include <chrono>
#include <utility>

#include "slurm/cluster/programs.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {

Result<std::string> call_accounting(const Variables& variables, std::string_view program,
                                    std::vector<std::string> words) {
  constexpr auto kLongest = std::chrono::minutes(5);  // a month of a large cluster's jobs
  TRY_ASSIGN(const auto rules, read_rules("/", variables));
  TRY_ASSIGN(const auto installation, slurm::find_installation(rules, variables));
  const auto path = installation.scontrol.parent_path() / program;
  return slurm::call(installation, path, std::move(words),
                     {.deadline = kLongest, .end = Clock::now() + kLongest});
}

}  // namespace muster::app
