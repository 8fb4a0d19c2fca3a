// SPDX-License-Identifier: Apache-2.0
// Runs collectives: NCCL on GPUs, MPI or TCP on host memory, or a simulated cluster. The caller
// decides what to run, how often, and whether the result is good.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/collectives/operation.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// A rank, for tables and messages.
struct Member {
  MUSTER_DESCRIBED(Member);
  MUSTER_REQUIRED(int, rank, "") = 0;
  MUSTER_REQUIRED(std::string, host, "");
  MUSTER_REQUIRED(std::int64_t, pid, "") = 0;
  MUSTER_REQUIRED(std::string, device, "\"NVIDIA H100 80GB HBM3\", \"host memory\"");
  MUSTER_REQUIRED(std::string, device_id, "\"gpu3\"; \"host\"");
  MUSTER_REQUIRED(std::string, pci_address, "of a GPU; else empty");
};

// How the ranks of a back end exchange texts when they start. Every rank calls these in the same
// order: `gather` returns the texts of all ranks on rank 0, and `broadcast` returns rank 0's text
// everywhere.
struct Exchange {
  std::function<Result<std::vector<std::string>>(std::string_view mine)> gather;
  std::function<Result<std::string>(std::string_view text)> broadcast;
};

// How often an operation runs, and how the iterations follow each other.
struct Pace {
  int warm_up = 5;
  int iterations = 20;
  bool pipelined = false;  // start them back to back; otherwise wait for each
  bool graph = false;      // capture the operation as a CUDA graph
  int together = 1;        // operations in one NCCL group; times are for one operation
  bool cpu_time = false;   // also measure the CPU time of the rank's thread
};

// The seconds of each iteration on one rank. If a back end cannot time pipelined iterations
// separately, all have the mean.
struct Samples {
  MUSTER_DESCRIBED(Samples);
  MUSTER_REQUIRED(int, rank, "") = 0;
  MUSTER_REQUIRED(std::vector<double>, seconds, "");
  // On GPUs for starting it, on host memory for all of it. Empty unless requested, and in a
  // simulated cluster.
  MUSTER_REQUIRED(std::vector<double>, cpu_seconds, "the thread's CPU time in each iteration") = {};
};

// The CPU time of the calling thread: the time that it ran, without waiting. Reading this clock is
// a system call, so it is read only if requested.
class CpuTimer {
 public:
  explicit CpuTimer(bool runs) : runs_(runs) {}

  void start() { begin_ = now(); }

  // CPU time since the last start(); 0 if it does not run.
  [[nodiscard]] double seconds() const { return now() - begin_; }

 private:
  [[nodiscard]] double now() const {
    if (!runs_) return 0;
    timespec time{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  bool runs_;
  double begin_ = 0;
};

// The results of a batch of operations on the ranks of this process.
struct Batch {
  MUSTER_DESCRIBED(Batch);
  MUSTER_REQUIRED(std::vector<Samples>, samples, "");
  MUSTER_REQUIRED(std::vector<Wrong>, wrong, "in the receive buffers after the batch");
};

// The operations that were started and finished since a call began, including the warm-up. Another
// thread reads them. On a GPU an operation has started when the stream has reached it.
struct Progress {
  std::atomic<std::uint64_t> started{0}, finished{0};

  void reset() {
    started = 0;
    finished = 0;
  }
};

class StreamedOperation;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string library() const = 0;  // "NCCL 2.28.3", "Open MPI 4.1.4"
  [[nodiscard]] virtual int ranks() const = 0;
  // The members in this process: one, or all in a simulated cluster.
  [[nodiscard]] virtual std::vector<Member> members() const = 0;

  // Bytes that are available for buffers, if that is known.
  [[nodiscard]] virtual std::optional<std::uint64_t> memory_free() const { return {}; }

  // Recreates the connections between the ranks, which may turn out differently. Every rank calls
  // it. Returns false if that is not possible.
  [[nodiscard]] virtual Result<bool> renew() { return false; }

  // Remarks on how it was set up, as sentences.
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }

  // The lines that the library's own test of its paths printed; empty if it was not requested.
  [[nodiscard]] virtual std::optional<std::vector<std::string>> diagnosis() const { return {}; }

  // An error if the operation cannot run here: "NCCL 2.9 has no average".
  [[nodiscard]] virtual Result<void> supports(const Operation& operation,
                                              const Pace& pace) const = 0;
  // Reserves memory for all operations of up to as many bytes as `largest`: one buffer if that is
  // in place, else two, which also serve operations in place.
  [[nodiscard]] virtual Result<void> reserve(const Operation& largest) = 0;
  // Fills the buffers, times the operations, and verifies every element after the last one, unless
  // the operation changes its own input, such as a sum in place. Only the collective runs between
  // two readings of the clock. In the end, makes every element of the receive buffer wrong, runs
  // the operation once more on fresh data, and verifies that: the result of a timed operation may
  // be left from the one before.
  [[nodiscard]] virtual Result<Batch> measure(const Operation& operation, const Pace& pace,
                                              Progress& progress) = 0;
  // Fills the buffers, runs the operation once, as a graph if the pace says so, and verifies every
  // element. Returns an empty list if all are right.
  [[nodiscard]] virtual Result<std::vector<Wrong>> verify(const Operation& operation,
                                                          const Pace& pace, Progress& progress) = 0;

  // Runs the operation once, untimed, so that the library logs its algorithm. Every rank calls it.
  [[nodiscard]] virtual Result<void> account_for(const Operation& /*operation*/) { return {}; }

  // The library's log in this process so far; empty if it keeps none.
  [[nodiscard]] virtual std::string log() const { return {}; }

  // Null unless the back end uses GPUs.
  [[nodiscard]] virtual StreamedOperation* streamed() { return nullptr; }

  // Aborts a call that hangs in another thread. Returns soon; the process ends afterwards.
  virtual void abort() noexcept {}
};

}  // namespace muster::bench
