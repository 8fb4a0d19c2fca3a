// SPDX-License-Identifier: Apache-2.0
// What else a run is judged by: whether its data were right, whether it came to its end, and
// whether it used the transport that it has to. And what all of it comes to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/group/trouble.hpp"
#include "bench/results/row.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

// bench.data. One finding for each rank that received wrong elements, about its first; where more
// than eight did, as after a wrong sum, one for all of them. `members` are those of all ranks.
[[nodiscard]] std::vector<Finding> judge_data(const std::vector<Row>& rows,
                                              const std::vector<Member>& members);

// What the end of a run by this trouble says of the nodes: fail; but unknown if a signal ended the
// run, or if a rank gave up before the first operation for another reason than its GPU. Without a
// library, or without enough memory, nothing was tried.
[[nodiscard]] Outcome outcome_of(const Trouble& trouble);

// bench.completion. `members`: of the ranks that are known; may be empty.
[[nodiscard]] Finding judge_completion(const Trouble& trouble, const std::vector<Member>& members);
[[nodiscard]] Finding completed(int ranks);

// What the library's own log says it chose.
struct TransportFacts {
  bool known = false;     // there was a log to read
  std::string used;       // "NET/IB with GPUDirect between nodes, P2P inside"; may be empty
  std::string over = {};  // what joins the nodes: nvlink, infiniband; empty where it is not known

  struct Missing {
    std::string requirement;  // ib
    std::string cause;        // "no HCA is visible"; may be empty
  };

  std::vector<Missing> missing;
  std::vector<std::string> unclear;  // requirements about which the log says nothing
};

// What must be used: what the command line says, else what the profile says for GPUs on several
// nodes.
[[nodiscard]] std::vector<std::string> required_transports(const std::vector<std::string>& asked,
                                                           const Profile& profile, bool gpus,
                                                           int nodes);

// bench.transport.
[[nodiscard]] Finding judge_transport(const std::vector<std::string>& required,
                                      const TransportFacts& facts);

// bench.diagnosis, from the lines of NCCL's own test of its paths.
[[nodiscard]] Finding judge_diagnosis(const std::vector<std::string>& lines);

// Leaves to a failed bench.transport the bandwidth that it explains, names the accused of
// `report.nodes`, ranks the findings, and fills in the checks and the verdict as `muster check`
// does: nothing judged is not healthy.
void conclude(Report& report);

}  // namespace muster::bench
