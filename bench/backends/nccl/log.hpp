// SPDX-License-Identifier: Apache-2.0
// NCCL's own log, kept in memory: NCCL reads where to write it once, from the environment, before
// its first call. The lines about transports are written while a communicator begins and when
// something is used for the first time; the lines of every single operation (TUNING) are asked for
// in an untimed pass of their own, so that a timed one logs nothing.
#pragma once

#include <string>
#include <vector>

#include "lib/base/descriptor.hpp"

namespace muster::bench {

// To be called before NCCL is. Where the user has set NCCL_DEBUG and NCCL_DEBUG_FILE, these stay,
// and there is no log here; without a file it is kept here all the same.
void keep_nccl_log();

// What became of the user's NCCL_DEBUG, as a sentence; empty where there is none.
[[nodiscard]] std::string nccl_log_remark();

// Writes to standard error what a user's NCCL_DEBUG without a file would have shown by now, less
// what was written before. From any thread, as the log itself.
void replay_nccl_log();

// Sets whether the log has each operation, too, once NCCL has been told to read its settings again.
// Returns false where no log is kept.
bool log_nccl_operations(bool wanted);

// A variable of this process; empty where it is not set.
[[nodiscard]] std::string variable(const char* name);
// Only before NCCL's first call, or while it waits for its next one.
void set_variable(const char* name, const std::string& value);

// What NCCL wrote so far in this process; empty where no log is kept.
[[nodiscard]] std::string nccl_log();

// NCCL's own test of the paths between GPUs, which it has from 2.31 on and runs while a
// communicator is made. The process of rank 0 prints what came of it to standard output, where a
// report of muster's may go: it is kept from there. To be called before NCCL is.
void ask_for_diagnosis();

// Keeps what this process prints to standard output while this lives. One at a time.
class DiagnosisReader {
 public:
  DiagnosisReader();
  DiagnosisReader(const DiagnosisReader&) = delete;
  DiagnosisReader& operator=(const DiagnosisReader&) = delete;
  ~DiagnosisReader();

  // Gives standard output back. Returns the lines of NCCL's diagnosis without their prefix; prints
  // what else was printed meanwhile.
  [[nodiscard]] std::vector<std::string> read();

 private:
  Descriptor file_;
};

// Lets standard output go where it went before, so that a thread can report that NCCL hangs; any
// thread may call it.
void give_back_standard_output();

}  // namespace muster::bench
