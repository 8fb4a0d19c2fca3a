// SPDX-License-Identifier: Apache-2.0
// The reports of NCCL: its log, its test of the paths between GPUs, and its RAS service.
//
// The log is kept in memory. NCCL reads its log settings once, before its first call. It logs
// transports while a communicator starts and on first use. The algorithm of each operation (TUNING)
// is logged only in a separate untimed pass, so that timed operations log nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"

namespace muster::bench {

// Call this before NCCL starts. If the user has set NCCL_DEBUG and NCCL_DEBUG_FILE, nothing is
// kept.
void keep_nccl_log();

// A remark on the user's NCCL_DEBUG; empty if it is not set.
[[nodiscard]] std::string nccl_log_remark();

// Writes to standard error what a user's NCCL_DEBUG without a file would have printed since the
// last call. Thread-safe.
void replay_nccl_log();

// Sets whether operations are logged, once NCCL reads its settings again. Returns false if no log
// is kept.
bool log_nccl_operations(bool wanted);

// A variable of this process; empty if it is not set.
[[nodiscard]] std::string variable(const char* name);
// Do not call this while NCCL may read variables.
void set_variable(const char* name, const std::string& value);

// The log of this process so far; empty if none is kept. Thread-safe.
[[nodiscard]] std::string nccl_log();

// Requests NCCL's own test of the paths between GPUs (2.31 and later), which runs while a
// communicator is made. Call this before NCCL starts.
void request_diagnosis();

// Captures standard output while it exists: rank 0 prints the diagnosis there, where our report may
// go. One at a time.
class DiagnosisReader {
 public:
  DiagnosisReader();
  DiagnosisReader(const DiagnosisReader&) = delete;
  DiagnosisReader& operator=(const DiagnosisReader&) = delete;
  ~DiagnosisReader();

  // Restores standard output and prints what else was captured. Returns the lines of the diagnosis
  // without their prefix.
  [[nodiscard]] std::vector<std::string> read();

 private:
  Descriptor file_;
};

// Lets a thread report that NCCL hangs during the diagnosis. Thread-safe.
void restore_standard_output();

// The RAS service (2.24 and later) is a thread in each process that knows which processes are gone
// and which ranks are behind, and that answers while an operation hangs.

// Sets the address of this process' service to a free port, unless the user has set one: at the
// default port another job on this node may answer. Call this before NCCL starts.
void choose_ras_address();

// The errors and warnings of the service on one line; empty if it reports none or does not answer
// within the limit.
[[nodiscard]] std::string ask_ras(Clock::duration limit);

// The sentences below "Errors" and "Warnings" in the service's answer.
[[nodiscard]] std::string trouble_in_ras_answer(std::string_view answer);

}  // namespace muster::bench
