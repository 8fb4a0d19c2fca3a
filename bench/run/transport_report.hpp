// SPDX-License-Identifier: Apache-2.0
// The transports in the ranks' NCCL logs, whether they are the required ones, and problems that
// keep this process from the node's HCAs or from enough memory, as in a container that was not
// given them. NCCL then uses TCP, or fails with an error that does not name the cause.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/results/outcomes.hpp"
#include "lib/base/result.hpp"
#include "lib/base/root.hpp"

namespace muster::bench {

struct RankContext;

struct TransportReport {
  TransportFacts facts;
  std::string algorithm;              // RING, if NCCL used a single one for the collective
  std::vector<std::string> pairs;     // "NET/IB/GDRDMA: 0-7 to 8-15", a line for each transport
  std::vector<std::string> warnings;  // of NCCL, without repetitions
};

// `members`: of all ranks, in order. `required`: valid words of --require-transport.
[[nodiscard]] TransportReport transport_report(const std::vector<std::string>& logs,
                                               const std::vector<Member>& members,
                                               const std::vector<std::string>& required,
                                               Collective collective);

// Returns the algorithm that NCCL logged in this process, as profiles name it: "ring"; empty if it
// logged none, or several.
[[nodiscard]] std::string logged_algorithm(Collective collective);

// Returns NCCL's warnings in this process.
[[nodiscard]] std::vector<std::string> nccl_warnings();

// A member is empty if that problem does not exist.
struct AccessProblems {
  std::string hcas;
  std::string locked_memory;
  std::string shared_memory;
};

[[nodiscard]] AccessProblems observe_access();

// Compares the HCAs in sysfs with the device files and with the HCAs that libibverbs lists.
[[nodiscard]] std::string problem_with_hcas(const Root& root,
                                            const Result<std::vector<std::string>>& listed);
// The capability IPC_LOCK lifts the limit.
[[nodiscard]] std::string problem_with_locked_memory(std::uint64_t limit_bytes, bool ipc_lock);
[[nodiscard]] std::string problem_with_shared_memory(std::uint64_t bytes);

// The lines that a rank adds to its shortened log: empty unless NCCL uses TCP.
[[nodiscard]] std::string access_lines(std::string_view log, const AccessProblems& problems);

// Explains a failed run from its error and NCCL's warnings: by one of these problems, by a setting
// that NCCL refuses, or by a lack of memory. Empty if none of them explains it. A rank whose
// failure is explained does not accuse its node.
[[nodiscard]] std::string explain_failure(const std::vector<std::string>& texts,
                                          const AccessProblems& problems);
// The same for this process, if it uses NCCL.
[[nodiscard]] std::string explain_failure(const RankContext& self, const Error& error);

}  // namespace muster::bench
