// SPDX-License-Identifier: Apache-2.0
// Judges a run apart from its bandwidth: whether its data was right, whether it completed, and
// whether it used the required transport. Concludes the report.
#pragma once

#include <string>
#include <vector>

#include "bench/group/trouble.hpp"
#include "bench/results/row.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

// bench.data. Returns a finding for each rank that received wrong elements, about its first one; if
// more than eight did, as after a wrong sum, one for all. `members`: of all ranks.
[[nodiscard]] std::vector<Finding> judge_data(const std::vector<Row>& rows,
                                              const std::vector<Member>& members);

// Returns fail; but unknown if a signal ended the run, if the ranks did not meet, or if a rank gave
// up for another reason than its GPU before the first operation, as without a library, or because
// of its settings.
[[nodiscard]] Outcome outcome_of(const Trouble& trouble);

// bench.completion. `members`: of the known ranks; may be empty.
[[nodiscard]] Finding judge_completion(const Trouble& trouble, const std::vector<Member>& members);
[[nodiscard]] Finding completed(int ranks);

// The library's transports, from its log.
struct TransportFacts {
  bool known = false;     // there was a log
  std::string used;       // "between nodes NET/IB/GDRDMA; inside P2P/CUMEM"; may be empty
  std::string over = {};  // the connection of the nodes: nvlink, infiniband; empty if unknown

  struct Missing {
    std::string requirement;  // ib
    std::string cause;        // "no HCA is visible"; may be empty
  };

  std::vector<Missing> missing;
  std::vector<std::string> unclear;  // requirements that the log does not mention
};

// Returns the requirements of the command line, else those of the profile for GPUs on several
// nodes.
[[nodiscard]] std::vector<std::string> required_transports(
    const std::vector<std::string>& requested, const Profile& profile, bool gpus, int nodes);

// bench.transport.
[[nodiscard]] Finding judge_transport(const std::vector<std::string>& required,
                                      const TransportFacts& facts);

// bench.diagnosis, from the lines of NCCL's test of its paths.
[[nodiscard]] Finding judge_diagnosis(const std::vector<std::string>& lines);

// The nodes with a failure, of themselves or of a device: "gpu-0007", "gpu-0007/gpu3 0003:00:00.0".
[[nodiscard]] std::vector<std::string> accused_of(const std::vector<Finding>& findings,
                                                  const std::vector<std::string>& nodes);

// Skips a low bandwidth that a failed bench.transport explains, names the accused of
// `report.nodes`, ranks the findings, and fills in the checks and the verdict.
void conclude(Report& report);

// Marks a report as a trial, which is not judged, if only the bandwidth is unknown.
void conclude_trial(Report& report);

}  // namespace muster::bench
