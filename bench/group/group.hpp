// SPDX-License-Identifier: Apache-2.0
// The processes of one run, as seen by one of them: they meet at rank 0 over TCP, tell each other
// small texts, and notice when one is gone or late. The benchmark's own data never go this way.
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

// Tell how far a process is in a phase: how much of its work it has started, and how much it has
// finished. Asked on the group's own thread. Both are set, or neither.
struct ProgressCounters {
  std::function<std::uint64_t()> started, finished;
  std::string unit = "operation";  // what is counted; empty where the phase is one piece of work

  explicit operator bool() const { return finished != nullptr; }
};

struct JoinOptions {
  int rank = 0;
  int world = 1;
  // Rank 0 listens there (port 0: any), the others connect there, trying each in turn.
  std::vector<Rendezvous> addresses;
  Descriptor listener;         // rank 0: already open; else it opens addresses.front()
  std::string secret;          // shared by the job; empty: none, and ranks are believed
  std::string name;            // this process, for messages: "gpu-0007 (pid 123)"
  Clock::duration patience{};  // for all to arrive
  // Called once, on a thread of the group's own, when the run cannot go on. The process is expected
  // to report and end in it.
  std::function<void(const Trouble&)> on_trouble;
  // Rank 0: what else is known of a phase that took too long, asked before the others are told and
  // end. It takes no longer than 1.5 times the grace. On the same thread.
  std::function<std::string()> explain_late;
  // Rank 0: told of each stranger that was turned away, a sentence. On the group's own thread.
  std::function<void(std::string_view)> note;
  // Rank 0: told of the ranks that are missing yet, whenever some have come. On the same thread.
  std::function<void(const std::vector<int>&)> missing;
  // How long a process may take to say where it is, and rank 0 to report, once there is trouble.
  Clock::duration grace = std::chrono::seconds(2);
  // How long somebody who has connected may take to say who it is.
  Clock::duration hello_limit = std::chrono::seconds(5);
};

// Ranks other than 0 are told of trouble once rank 0 has reported it and ended, or after the grace:
// a launcher that ends all ranks when one ends does not cut off the report.
class Group {
 public:
  // Where ranks are missing, `on_trouble` is called first, and then this is an error.
  [[nodiscard]] static Result<std::unique_ptr<Group>> join(JoinOptions options);

  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;  // says goodbye: leaving is no loss

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Every rank calls the same of these in the same order. `gather` gives rank 0 the text of every
  // rank, and the others nothing; `broadcast` gives everybody rank 0's.
  [[nodiscard]] virtual Result<std::vector<std::string>> gather(std::string_view mine) = 0;
  [[nodiscard]] virtual Result<std::string> broadcast(std::string_view text) = 0;
  [[nodiscard]] virtual Result<void> barrier() = 0;

  // Says that this process is in `phase` from here on, and must enter the next one within `limit`;
  // else everybody's `on_trouble` is told who came how far. Cheap; no message is sent. Every rank
  // enters the same phases in the same order: who has entered fewer is behind. Where there are
  // `counters`, the limit begins anew whenever another operation is finished.
  virtual void enter(Phase phase, Clock::duration limit, ProgressCounters counters = {}) = 0;

  // The ranks whose texts this process waits for at this moment; any thread may ask.
  [[nodiscard]] virtual std::vector<int> awaited() { return {}; }

  // Lets the run go on without ranks that are lost from here on; on rank 0. gather() then has an
  // empty text of each.
  virtual void go_on_without_the_lost() {}

  // What the run has gone on without since then, on rank 0, each with what is known of it. Any
  // thread may ask.
  [[nodiscard]] virtual std::vector<Trouble> losses() { return {}; }

  // Tells everybody that the run ends, and why. Their `on_trouble` is called; this process' is not.
  // Returns once they are told and rank 0 has ended, or after twice the grace.
  virtual void give_up(GivingUp reason) = 0;
};

}  // namespace muster::bench
