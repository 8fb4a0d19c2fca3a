// SPDX-License-Identifier: Apache-2.0
// Runs `muster-bench` as launchers do: real processes with their own variables, under a deadline,
// and finds what they leave behind.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/process.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::e2e {

// Generous for a busy machine; a hang takes longer.
inline constexpr auto kJobPatience = std::chrono::seconds(90);

struct Ended {
  int status = -1;  // 128 and the signal's number if a signal ended it; -1 after the deadline
  std::string out, err;

  // The report on standard output, which is expected to be JSON.
  [[nodiscard]] nlohmann::json report() const;
};

// The first finding of this check, or null.
[[nodiscard]] nlohmann::json finding_of(const nlohmann::json& report, const std::string& check);

// The outcome of a check, for example "pass"; empty if the report does not have it.
[[nodiscard]] std::string outcome_of(const nlohmann::json& report, const std::string& check);
// The message of its finding.
[[nodiscard]] std::string message_of(const nlohmann::json& report, const std::string& check);

class Job {
 public:
  Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // Kills all processes that are left.
  ~Job();

  // Starts one process: the launcher, or a rank. It inherits little of the environment, so that a
  // launcher around the tests is not noticed.
  std::size_t start(const Words& words, const Variables& variables = {});
  // Waits for it and kills everything after `patience`.
  [[nodiscard]] Ended end_of(std::size_t process, std::chrono::seconds patience = kJobPatience);
  [[nodiscard]] Ended run(const Words& words, const Variables& variables = {}) {
    return end_of(start(words, variables));
  }

  // How rank 0 ended, the first of these processes to start. Expects this status of all ranks, no
  // output of the others, and nothing left behind.
  Ended end_of_ranks(int ranks, int status);
  // Waits for an mpirun one of whose ranks was killed. Open MPI 4.1 may then wait forever in
  // PMIx_server_finalize; once all of its ranks have exited it is killed, with status 137.
  [[nodiscard]] Ended end_of_mpirun(std::size_t process);
  // Waits until this text is on its standard output. Returns false, with all of its output, if it
  // exited without.
  [[nodiscard]] ::testing::AssertionResult says(std::size_t process, std::string_view text);
  [[nodiscard]] std::string out_of(std::size_t process) const;
  [[nodiscard]] std::string err_of(std::size_t process) const;

  [[nodiscard]] pid_t pid_of(std::size_t process) const { return started_.at(process)->pid(); }

  // Waits for the process of a rank that a launcher or --local started.
  [[nodiscard]] pid_t rank_under_mpirun(int rank) const;
  [[nodiscard]] pid_t local_rank_of(std::size_t process, int rank) const;
  // All live processes of this job, except those already waited for.
  [[nodiscard]] std::vector<pid_t> alive() const;
  // Waits briefly until there are none.
  [[nodiscard]] bool leaves_nothing() const;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

  [[nodiscard]] std::string write(std::string_view name, std::string_view content) const;

 private:
  [[nodiscard]] std::vector<LiveProcess> live() const;

  TempDir folder_;
  std::string mark_;  // in the environment of everything that it starts
  std::vector<std::unique_ptr<Process>> started_;
};

// A limit that any run reaches, because an unjudged run is not healthy.
inline constexpr const char* kAnyBandwidth = "--min-busbw=1B/s";

[[nodiscard]] Words with(Words words, const Words& more);
[[nodiscard]] Words muster_bench(const Words& words);
// Options for the fakes of CUDA and NCCL.
[[nodiscard]] Words on_fake_gpus(Words words, const Words& more = {});
[[nodiscard]] Words mpirun(int ranks, const Words& words);
// RANK, WORLD_SIZE and the others, as torchrun sets them.
[[nodiscard]] Variables torchrun(int rank, int world, int port, int per_node = 0);
// An unused loopback port, with an unused one at torchrun's distance above it.
[[nodiscard]] int free_port();

[[nodiscard]] bool has_mpirun();

}  // namespace muster::e2e
