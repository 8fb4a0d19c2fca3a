// SPDX-License-Identifier: Apache-2.0
// The processes of one run. They meet at rank 0 over TCP, exchange small texts, and notice when one
// is lost or late. The benchmark's own data never take this path.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group/trouble.hpp"
#include "bench/launch/place.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// How much of a phase's work a process has started and finished. Called on the group's own thread.
// Both are set, or neither.
struct ProgressCounters {
  std::function<std::uint64_t()> started, finished;
  std::string unit = "operation";  // what is counted; empty if the phase is one piece of work

  explicit operator bool() const { return finished != nullptr; }
};

// All functions are called on the group's own thread.
struct JoinOptions {
  int rank = 0;
  int world = 1;
  // Rank 0 listens there (port 0: any); the others connect, trying each in turn.
  std::vector<Rendezvous> addresses;
  Descriptor listener;         // rank 0: if it is open already, instead of addresses.front()
  std::string secret;          // shared by the job; without one, ranks are trusted
  std::string name;            // of this process, for messages: "gpu-0007 (pid 123)"
  Clock::duration patience{};  // until all have arrived
  // Called once when the run cannot continue. It is expected to report and end the process.
  std::function<void(const Trouble&)> on_trouble;
  // On rank 0: returns what else is known about a phase that took too long. Called before the
  // others are informed and end; may take up to 1.5 times `grace`.
  std::function<std::string()> explain_late;
  // The stages of all ranks that this process simulates, from the stage of the process.
  std::function<std::vector<RankStage>(const Stage& own)> simulated;
  // Rank 0: called with a sentence for each stranger that was refused.
  std::function<void(std::string_view)> note;
  // Rank 0: called with the missing ranks whenever some have arrived.
  std::function<void(const std::vector<int>&)> missing;
  // After trouble: how long a process may take to report its phase, and rank 0 to report.
  Clock::duration grace = std::chrono::seconds(2);
  // How long a process that has connected may take to identify itself.
  Clock::duration hello_limit = std::chrono::seconds(5);
};

// Ranks other than 0 hear of trouble once rank 0 has reported it and ended, or after the grace: a
// launcher that ends all ranks when one ends does not cut off the report.
class Group {
 public:
  // If ranks are missing, `on_trouble` is called first, and then this returns an error.
  [[nodiscard]] static Result<std::unique_ptr<Group>> join(JoinOptions options);

  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;  // says goodbye, so that leaving is not a loss

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Every rank calls these in the same order. `gather` returns the texts of all ranks on rank 0 and
  // nothing elsewhere; `broadcast` returns rank 0's text everywhere.
  [[nodiscard]] virtual Result<std::vector<std::string>> gather(std::string_view mine) = 0;
  [[nodiscard]] virtual Result<std::string> broadcast(std::string_view text) = 0;
  [[nodiscard]] virtual Result<void> barrier() = 0;

  // Records that this process is now in `phase` and must enter the next one within `limit`;
  // otherwise every `on_trouble` is called. Sends nothing. All ranks enter the same phases in the
  // same order. With `counters`, each finished operation restarts the limit.
  virtual void enter(Phase phase, Clock::duration limit, ProgressCounters counters = {}) = 0;

  // The ranks whose texts this process is waiting for. Thread-safe.
  [[nodiscard]] virtual std::vector<int> awaited() { return {}; }

  // On rank 0: continues without ranks that are lost from now on. gather() then returns an empty
  // text for each.
  virtual void go_on_without_the_lost() {}

  // On rank 0: the losses that the run has continued without. Thread-safe.
  [[nodiscard]] virtual std::vector<Trouble> losses() { return {}; }

  // Ends the run: calls `on_trouble` of all other processes. Returns once they have heard and rank
  // 0 has ended, or after twice the grace.
  virtual void give_up(Trouble reason) = 0;
};

}  // namespace muster::bench
