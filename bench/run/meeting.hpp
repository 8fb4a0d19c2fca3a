// SPDX-License-Identifier: Apache-2.0
// How the processes of a run find each other (over MPI if it started them, else at the address that
// the launcher or the user names), agree on the run, and exchange values.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
#include "bench/launch/place.hpp"
#include "bench/model/cluster.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct RankContext;

// Sent by every process at the start.
struct Introduction {
  MUSTER_DESCRIBED(Introduction);
  MUSTER_REQUIRED(std::string, host, "");
  MUSTER_REQUIRED(std::string, backend, "that it would run: \"nccl\"");
  MUSTER_REQUIRED(std::string, profile, "that it would judge by");
  MUSTER_REQUIRED(std::string, command_line, "must be the same on all ranks");
  MUSTER_REQUIRED(bool, bare, "its node has neither a GPU nor an HCA") = false;
  MUSTER_REQUIRED(std::string, domain, "the NVLink domain of its GPUs; empty for none") = {};
};

// Where a rank runs.
struct RankPlace {
  MUSTER_DESCRIBED(RankPlace);
  MUSTER_REQUIRED(int, node, "the index of its host in `hosts`") = 0;
  MUSTER_REQUIRED(int, local, "its index among the ranks of its host") = 0;
};

// Rank 0's conclusion from the introductions, sent to all.
struct Agreement {
  MUSTER_DESCRIBED(Agreement);
  MUSTER_REQUIRED(std::string, refusal, "why the run cannot start; empty if it can");
  MUSTER_REQUIRED(std::vector<std::string>, hosts, "each once, in the order of first ranks");
  MUSTER_REQUIRED(std::vector<RankPlace>, places, "of every rank");
  MUSTER_REQUIRED(bool, bare, "no node has a GPU or an HCA") = false;
  MUSTER_REQUIRED(std::vector<std::string>, domains,
                  "the NVLink domain of each host; an empty word for none") = {};

  // Whether all hosts are in the same NVLink domain.
  [[nodiscard]] bool is_one_domain() const;
};

using ByteList = std::vector<unsigned>;

// Convert a described struct, a number, a text, or a list of these to text and back. All ranks must
// run the same version of this program; an error names the rank that sent the text.
template <class T>
[[nodiscard]] std::string to_message(const T& value) {
  return to_json_line(value);
}
template <class T>
[[nodiscard]] Result<T> from_message(std::string_view text, int rank) {
  return from_json<T>(text).map_error([rank](const Error& error) {
    return Error{
        fmt::format("rank {} runs another version of muster-bench: cannot parse its message ({})",
                    rank, error.message)};
  });
}

// Every rank must call the functions below in the same order.

// Returns the values of all ranks, in order, on rank 0; elsewhere nothing.
template <class T>
[[nodiscard]] Result<std::vector<T>> gather(Group& group, const T& mine) {
  TRY_ASSIGN(const auto texts, group.gather(to_message(mine)));
  std::vector<T> values;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    TRY_ASSIGN(auto value, from_message<T>(texts[rank], static_cast<int>(rank)));
    values.push_back(std::move(value));
  }
  return values;
}

// Returns rank 0's value on every rank.
template <class T>
[[nodiscard]] Result<T> broadcast(Group& group, const T& value) {
  TRY_ASSIGN(const auto text, group.broadcast(to_message(value)));
  return from_message<T>(text, 0);
}

// Whether the rank and size that MPI reports agree with the launcher's. If they do not: an error if
// MPI is `needed`, else false, and the contradiction is appended to the place's evidence.
[[nodiscard]] Result<bool> fits(int rank, int size, Place& place, bool needed);

// Meets the other ranks, introduces this one, and fills in self.membership. `listener` is rank 0's
// if its parent opened it, and `secret` the job's; empty for none. After an error,
// self.membership holds what there is so far.
[[nodiscard]] Result<void> meet(RankContext& self, Descriptor listener, std::string secret);

// Returns the secret that --secret-file or MUSTER_JOB_SECRET holds; empty for none.
[[nodiscard]] Result<std::string> job_secret(const BenchCommand& command,
                                             const Variables& variables);

// The stages of the ranks that a process simulates: one that hangs has not started its operation.
[[nodiscard]] std::vector<RankStage> simulated_stages(const SimCluster& cluster, const Stage& own);

// Concludes who runs where from the introductions of all ranks, in order. Complains about a rank
// that was started for another run than rank 0.
[[nodiscard]] Agreement agreement_of(const std::vector<Introduction>& introductions);

// Returns a sentence for each node whose profile differs from rank 0's.
[[nodiscard]] std::vector<std::string> other_profiles(
    const std::vector<Introduction>& introductions);

}  // namespace muster::bench
