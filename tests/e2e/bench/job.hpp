// SPDX-License-Identifier: Apache-2.0
// Runs of `muster-bench` as a launcher starts them: real processes, each with its own variables,
// under a deadline, and what they leave behind.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace muster::e2e {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// A busy machine takes its time; a hang takes longer.
inline constexpr auto kPatience = std::chrono::seconds(90);

struct Ended {
  int status = -1;  // 128 and the signal's number where one ended it; -1 where the deadline did
  std::string out, err;

  // The report on standard output; discarded where it is none.
  [[nodiscard]] nlohmann::json report() const;
};

// A finding of a report: the first of this check, or null.
[[nodiscard]] nlohmann::json finding_of(const nlohmann::json& report, const std::string& check);

// What came of a check: "pass"; empty where it is not in the report.
[[nodiscard]] std::string outcome_of(const nlohmann::json& report, const std::string& check);
// The message of its finding.
[[nodiscard]] std::string message_of(const nlohmann::json& report, const std::string& check);

class Job {
 public:
  Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // Kills what is left.
  ~Job();

  // One process that is started by hand: the launcher, or a rank. Of its own environment it gets
  // little, so that a launcher around the tests is not seen.
  std::size_t start(const Words& words, const Variables& variables = {});
  // Waits for it; after `patience` all are killed.
  [[nodiscard]] Ended end_of(std::size_t process, std::chrono::seconds patience = kPatience);
  // The same of an mpirun one of whose ranks was killed. That of Open MPI 4.1 may then wait for
  // ever in PMIx_server_finalize: where all it started has ended it is killed, which is 137.
  [[nodiscard]] Ended end_of_mpirun(std::size_t process);
  // Waits until this text is on its standard output; false, with all it said, where it ended
  // without.
  [[nodiscard]] ::testing::AssertionResult says(std::size_t process, std::string_view text);
  [[nodiscard]] std::string out_of(std::size_t process) const;
  [[nodiscard]] std::string err_of(std::size_t process) const;

  [[nodiscard]] pid_t pid_of(std::size_t process) const { return started_.at(process).pid; }

  // The process of a rank that a launcher started, or that --local made; waits for it.
  [[nodiscard]] pid_t rank_under_mpirun(int rank) const;
  [[nodiscard]] pid_t local_rank_of(std::size_t process, int rank) const;
  // All processes of this job that are alive, those that have been waited for left out.
  [[nodiscard]] std::vector<pid_t> alive() const;
  // Waits a moment until there are none.
  [[nodiscard]] bool leaves_nothing() const;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

  [[nodiscard]] std::string write(std::string_view name, std::string_view content) const;

 private:
  struct Started {
    pid_t pid = -1;
    bool ended = false;
    int status = -1;
  };

  // Has it ended by now?
  [[nodiscard]] static bool has_ended(Started& started);

  TempDir folder_;
  std::string mark_;
  std::vector<Started> started_;
};

// A limit that any run reaches: what nobody judged is not healthy.
inline constexpr const char* kAnyBandwidth = "--min-busbw=1B/s";

// With the shared words and variables of these tests.
[[nodiscard]] Words muster_bench(const Words& words);
[[nodiscard]] Words mpirun(int ranks, const Words& words);
// RANK, WORLD_SIZE and the rest, as torchrun sets them.
[[nodiscard]] Variables torchrun(int rank, int world, int port, int per_node = 0);
// A port of loopback that nobody listens on, nor on the one beside it that torchrun leaves.
[[nodiscard]] int free_port();

[[nodiscard]] bool has_mpirun();

// Empty where there is no such file.
[[nodiscard]] std::string content_of(const std::filesystem::path& file);

}  // namespace muster::e2e
