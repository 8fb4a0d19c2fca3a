// SPDX-License-Identifier: Apache-2.0
// How a job of a sweep is submitted, and the report that it leaves.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/report/report.hpp"
#include "slurm/cluster/node_names.hpp"
#include "slurm/rules/sweep_rules.hpp"
#include "slurm/sweeps/sweep_log.hpp"

namespace muster::slurm {

// "muster-sweep-locate".
[[nodiscard]] std::string sweep_job_name(std::string_view kind);

// The arguments of sbatch. An error names an invalid node name.
[[nodiscard]] Result<std::vector<std::string>> sbatch_arguments(const SweepJob& job,
                                                                const SweepRules& rules);

// The file that the job writes its report to, and the one with its output.
[[nodiscard]] std::filesystem::path sweep_result_file(const SweepJob& job, const SweepRules& rules);
[[nodiscard]] std::filesystem::path sweep_output_file(const SweepJob& job, const SweepRules& rules);

// The error is `missing` as long as the job has not left one. The report is untrusted.
[[nodiscard]] Result<Report> read_sweep_result(const std::filesystem::path& file);

// Whether a check that says something about nodes passed or warned. A healthy report without one
// says nothing about its nodes.
[[nodiscard]] bool judges_nodes(const Report& report);

// The verdict of `report` on each node of the job. `names` are the nodes of the cluster with their
// hosts, by which the report names them.
[[nodiscard]] std::vector<SweepVerdict> sweep_verdicts(const SweepJob& job, const Report& report,
                                                       const std::vector<NodeName>& names);
// Undecided on each node of the job.
[[nodiscard]] std::vector<SweepVerdict> undecided_verdicts(const SweepJob& job,
                                                           std::string_view why);

}  // namespace muster::slurm
