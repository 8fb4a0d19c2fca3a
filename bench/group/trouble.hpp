// SPDX-License-Identifier: Apache-2.0
// Why a run cannot go on: as a value, as bytes between ranks, and in words.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::bench {

using Clock = std::chrono::steady_clock;

// How far a run has come.
enum class Part : std::uint8_t {
  meeting,   // its ranks do not know each other yet
  starting,  // they do, and nothing has been run
  running,
};

// What a process does, and the part of the run that it belongs to.
struct Phase {
  // A phase of a run that is under way, by its name alone.
  Phase(const char* words) : name(words) {}  // NOLINT(google-explicit-constructor)

  Phase(std::string words, Part in_part = Part::running)  // NOLINT(google-explicit-constructor)
      : name(std::move(words)), part(in_part) {}

  std::string name;  // "rendezvous", "start of NCCL", "all_reduce of 8 MiB"
  Part part = Part::running;

  bool operator==(const Phase&) const = default;
};

inline const Phase kRendezvous{"rendezvous", Part::meeting};

// Why a run cannot go on.
struct Trouble {
  enum class Kind {
    absent,    // ranks that did not come to the rendezvous in time
    lost,      // a rank's process has ended, or its node is gone
    late,      // a phase took longer than it may
    given_up,  // a rank reported an error of its own
    stopped,   // this process was told to end by a signal
  };
  Kind kind = Kind::lost;
  Phase phase = "";
  std::string what;          // a sentence: what is known
  std::vector<int> ranks;    // who is missing, gone or late; may be empty
  std::vector<int> arrived;  // who was there, or further; for absent and late
  // Rank 0 is gone or silent, and this process found that out by itself: rank 0 reports nothing.
  bool without_rank_0 = false;
  bool broken = false;  // a device of the rank that gave up does not work, by its own word
};

// Why a rank ends the run.
struct GivingUp {
  std::string why;
  bool stopped = false;  // it was told to end by a signal, which says nothing about its node
  bool broken = false;   // a device says that it does not work
};

// The trouble of a rank that ends the run in this phase; which one it is, is left open.
[[nodiscard]] Trouble trouble_of(const GivingUp& reason, const Phase& phase);

// The phase that a process is in: its number, counted from the start of the process, and its name.
struct Stage {
  std::uint64_t number = 0;
  bool waits = false;  // only for the texts of other ranks
  // Where its work is counted: how many units of it were started and finished. The limit holds for
  // one of them, not for the whole phase.
  bool counted = false;
  std::uint64_t started = 0, finished = 0;
  std::string unit = {};  // "operation"; empty where the phase is one
  Phase phase{"start", Part::starting};
  Clock::duration limit{};
  Clock::time_point deadline = Clock::time_point::max();
};

[[nodiscard]] std::string to_bytes(const Trouble& trouble);
[[nodiscard]] std::optional<Trouble> read_trouble(std::string_view bytes);

[[nodiscard]] std::string to_bytes(const Stage& stage);
[[nodiscard]] std::optional<Stage> read_stage(std::string_view bytes);

// "rank 3", "ranks 3 and 5-7"; "no rank".
[[nodiscard]] std::string ranks_in_words(const std::vector<int>& ranks);
// "2.5 s".
[[nodiscard]] std::string in_words(Clock::duration duration);

// What is known of a rank when a phase takes too long.
struct Answer {
  int rank = 0;
  std::string name;
  std::optional<Stage> stage;  // where it is; nothing: it does not answer
};

// The trouble of a phase that took too long. To blame are the ranks that do not answer, and those
// that have entered fewer phases than others or still work where others wait for them. A rank that
// is behind but waits itself is not to blame, unless nobody else is. Where all are in one operation
// after another, those are that have started or finished the fewest.
[[nodiscard]] Trouble late_trouble(const Stage& overdue, const std::vector<Answer>& answers);

}  // namespace muster::bench
