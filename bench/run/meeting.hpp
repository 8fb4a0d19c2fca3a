// SPDX-License-Identifier: Apache-2.0
// How the processes of a run find each other (over MPI if it started them, else at the address that
// the launcher or the user names) and agree on the run.
#pragma once

#include <string>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// The rank and size that MPI reports for this process.
struct MpiSizes {
  int rank = 0;
  int size = 1;
};

// Whether MPI agrees with the launcher. If it does not: an error if MPI is `needed`, else false,
// and the contradiction is appended to the place's evidence.
[[nodiscard]] Result<bool> fits(const MpiSizes& reported, Place& place, bool needed);

// Meets the other ranks, introduces this one, and fills in self.membership. `listener` is rank 0's
// if its parent opened it, and `secret` the job's if it is already known. After an error,
// self.membership holds what there is so far.
[[nodiscard]] Result<void> meet(RankContext& self, Descriptor listener, std::string secret);

// Returns the secret that --secret-file or MUSTER_JOB_SECRET holds; empty for none.
[[nodiscard]] Result<std::string> job_secret(const BenchCommand& command,
                                             const Variables& variables);

// Concludes who runs where from the introductions of all ranks, in order. Complains about a rank
// that was started for another run than rank 0.
[[nodiscard]] Agreement agreement_of(const std::vector<Introduction>& introductions);

// Returns a sentence for each node whose profile differs from rank 0's.
[[nodiscard]] std::vector<std::string> other_profiles(
    const std::vector<Introduction>& introductions);

}  // namespace muster::bench
