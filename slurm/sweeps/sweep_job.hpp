// SPDX-License-Identifier: Apache-2.0
// One job of a sweep: how it is submitted, and the result that it leaves.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/report/report.hpp"
#include "slurm/rules/sweep_rules.hpp"
#include "slurm/sweeps/sweep_book.hpp"

namespace muster::slurm {

// "muster-sweep-pair".
[[nodiscard]] std::string sweep_job_name(std::string_view kind);

// What sbatch is given. An error names a node that is none.
[[nodiscard]] Result<std::vector<std::string>> sbatch_arguments(const SweepRun& run,
                                                                const SweepRules& rules);

// The file that the job writes its report to, and the one with what it printed.
[[nodiscard]] std::filesystem::path sweep_result_file(const SweepRun& run, const SweepRules& rules);
[[nodiscard]] std::filesystem::path sweep_output_file(const SweepRun& run, const SweepRules& rules);

// `missing` where the job has left none yet. Whatever lies there is read: the report is not
// trusted.
[[nodiscard]] Result<Report> read_sweep_result(const std::filesystem::path& file);

// Whether something that nodes reach was judged and did not fail. A healthy report in which nothing
// was says nothing about nodes.
[[nodiscard]] bool judges_nodes(const Report& report);

// The nodes that a search among many accuses, where nothing else failed in it: then the others are
// good.
[[nodiscard]] std::vector<std::string> hosts_to_blame(const Report& report);

}  // namespace muster::slurm
