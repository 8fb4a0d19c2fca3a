// SPDX-License-Identifier: Apache-2.0
// NCCL's own test of the paths between GPUs, which it has from 2.31 on and runs while a
// communicator is made. The process of rank 0 prints what came of it to standard output, where a
// report of muster's may go: it is kept from there.
#pragma once

#include <string>
#include <vector>

#include "lib/base/descriptor.hpp"

namespace muster::bench {

// To be called before NCCL is.
void ask_for_diagnosis();

// Keeps what this process prints to standard output while this lives. One at a time.
class DiagnosisReader {
 public:
  DiagnosisReader();
  DiagnosisReader(const DiagnosisReader&) = delete;
  DiagnosisReader& operator=(const DiagnosisReader&) = delete;
  ~DiagnosisReader();

  // Gives standard output back. The lines of NCCL's diagnosis, without what they begin with; what
  // else was printed is printed now.
  [[nodiscard]] std::vector<std::string> read();

 private:
  Descriptor file_;
};

// From any thread: standard output goes where it went before, for who reports that NCCL hangs.
void give_back_standard_output();

}  // namespace muster::bench
