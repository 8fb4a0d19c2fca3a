// SPDX-License-Identifier: Apache-2.0
// How the processes of a run find each other: over MPI where it started them, else at the address
// that the launcher or the user names.
#pragma once

#include <memory>
#include <string>

#include "bench/backends/mpi/module.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
#include "bench/launch/place.hpp"
#include "bench/run/messages.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// What MPI says of this process.
struct MpiSizes {
  int rank = 0;
  int size = 1;
};

// Whether that is what the launcher says. If it is not: an error where MPI is `needed`, else false,
// and the contradiction is added to the place's evidence.
[[nodiscard]] Result<bool> fits(const MpiSizes& told, Place& place, bool needed);

// What a rank has as one of the run, once it has met the others.
struct Membership {
  std::unique_ptr<MpiJob> mpi;  // may be null
  std::unique_ptr<Group> group;
  int local_rank = 0;  // among the ranks of this node
  Agreement agreed;    // who runs where
};

// Meets the others, tells them who this rank is, and learns from rank 0 who runs where. `listener`
// is rank 0's where it was open before this process began, and `secret` the job's where that is
// known already. Where there is an error, `membership` holds what there is by then.
[[nodiscard]] Result<void> meet(RankContext& self, Membership& membership, Descriptor listener,
                                std::string secret);

// The secret that --secret-file or MUSTER_JOB_SECRET holds; empty where there is none.
[[nodiscard]] Result<std::string> job_secret(const BenchCommand& command,
                                             const Variables& variables);

}  // namespace muster::bench
