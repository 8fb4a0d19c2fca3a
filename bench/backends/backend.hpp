// SPDX-License-Identifier: Apache-2.0
// What runs a collective: NCCL on GPUs, MPI or plain TCP on host memory, or a model of a cluster.
// The caller decides what is run, how often, and whether the answer is good.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/collectives/operation.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Who a rank is, for tables and messages.
struct Member {
  int rank = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string device;       // "NVIDIA H100 80GB HBM3", "host memory"
  std::string device_id;    // "gpu3"; "host"
  std::string pci_address;  // of a GPU; else empty
};

// How the ranks of a back end tell each other what it needs to begin. Every rank calls these in the
// same order: `gather` gives rank 0 the text of every rank, and `broadcast` gives everybody rank
// 0's.
struct Exchange {
  std::function<Result<std::vector<std::string>>(std::string_view mine)> gather;
  std::function<Result<std::string>(std::string_view text)> broadcast;
};

// How often an operation is run, and how one run follows another.
struct Pace {
  int warm_up = 5;
  int iterations = 20;
  // Back to back, as programs do; else each one is waited for by itself.
  bool pipelined = false;
  bool graph = false;     // captured once as a CUDA graph; only where the back end has them
  int together = 1;       // operations in one group of NCCL; times are of one of them
  bool cpu_time = false;  // the CPU time of the rank's thread is taken, too
};

// The seconds of each iteration on one rank. Where iterations are pipelined and the back end cannot
// time each by itself, all of them have the mean.
struct Samples {
  int rank = 0;
  std::vector<double> seconds;
  // The processor time of the thread that runs the operations, in each of them: on GPUs what
  // starting it takes, on host memory all of it. Empty where the pace does not ask for it, and in a
  // model.
  std::vector<double> cpu_seconds = {};
};

// What came of a batch of operations on the ranks whose work this process does.
struct Batch {
  std::vector<Samples> samples;
  std::vector<Wrong> wrong;  // in what the batch left in the receive buffers
};

// How far this process is, for the thread that watches it and for the message after a hang: the
// operations started and finished since the call began, those that warm up among them. On a GPU an
// operation has started when the stream has come to it.
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
  // The members whose work this process does: one, or all of them in a model.
  [[nodiscard]] virtual std::vector<Member> members() const = 0;

  // Bytes of memory that buffers can take here; empty where that is not known.
  [[nodiscard]] virtual std::optional<std::uint64_t> memory_free() const { return {}; }

  // Makes the connections between the ranks anew, where the library can: how they turn out differs
  // from run to run. Every rank calls it. False where there is nothing to make anew.
  [[nodiscard]] virtual Result<bool> renew() { return false; }

  // What somebody should know about how it was set up, a sentence each.
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }

  // The lines that the library's own test of its paths printed in this process, which may be none;
  // empty where no test was asked for.
  [[nodiscard]] virtual std::optional<std::vector<std::string>> diagnosis() const { return {}; }

  // An error if the operation cannot be run here: "NCCL 2.9 has no average". Asked before anything
  // runs.
  [[nodiscard]] virtual Result<void> supports(const Operation& operation,
                                              const Pace& pace) const = 0;
  // Reserves memory for every operation of up to as many bytes as `largest`: one buffer if that is
  // in place; else two, which do for operations in place as well.
  [[nodiscard]] virtual Result<void> reserve(const Operation& largest) = 0;
  // Fills the buffers, times, and looks at every element that the last operation left. Nothing but
  // the collective lies between two readings of the clock. An operation that changes its own input,
  // as a sum in place, is run once more for that, on buffers filled anew.
  [[nodiscard]] virtual Result<Batch> measure(const Operation& operation, const Pace& pace,
                                              Progress& progress) = 0;
  // Fills the buffers, runs once, as a graph where the pace says so, and looks at every element
  // received. Returns an empty list where nothing is wrong.
  [[nodiscard]] virtual Result<std::vector<Wrong>> verify(const Operation& operation,
                                                          const Pace& pace, Progress& progress) = 0;

  // Runs once more, untimed, so that the library's log says how it does that. Every rank calls it.
  [[nodiscard]] virtual Result<void> account_for(const Operation& /*operation*/) { return {}; }

  // What the library itself logged so far in this process; empty where it keeps no log.
  [[nodiscard]] virtual std::string log() const { return {}; }

  // The streamed operation of a back end on GPUs; null elsewhere.
  [[nodiscard]] virtual StreamedOperation* streamed() { return nullptr; }

  // Gives up what can be given up; called from another thread, while a call of this process hangs.
  // Returns soon; the process ends right after.
  virtual void abort() noexcept {}
};

}  // namespace muster::bench
