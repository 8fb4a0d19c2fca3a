// SPDX-License-Identifier: Apache-2.0
// Why a run cannot continue: as a value, as text between ranks, and as a message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/fields.hpp"

namespace muster::bench {

enum class Part : std::uint8_t {
  meeting,   // the ranks do not know each other yet
  starting,  // they do, and no operation has run
  running,
};
MUSTER_WORDS(Part, "meeting", "starting", "running");

// The activity of a process, and the part of the run that it belongs to.
struct Phase {
  Phase(const char* words) : name(words) {}  // NOLINT(google-explicit-constructor)

  Phase(std::string words, Part in_part = Part::running)  // NOLINT(google-explicit-constructor)
      : name(std::move(words)), part(in_part) {}

  MUSTER_DESCRIBED(Phase);
  MUSTER_REQUIRED(std::string, name, "\"rendezvous\", \"start of NCCL\", \"all_reduce of 8 MiB\"");
  MUSTER_REQUIRED(Part, part, "") = Part::running;
};

inline const Phase kRendezvous{"rendezvous", Part::meeting};

// Why a run cannot continue.
struct Trouble {
  enum class Kind {
    absent,    // ranks did not come to the rendezvous in time
    lost,      // a rank's process has ended, or its node is down
    late,      // a phase took longer than its limit
    given_up,  // a rank reported its own error
    stopped,   // a signal ended this process, which is not evidence against its node
  };
  MUSTER_DESCRIBED(Trouble);
  MUSTER_REQUIRED(Kind, kind, "") = Kind::lost;
  MUSTER_REQUIRED(Phase, phase, "") = "";
  MUSTER_REQUIRED(std::string, what, "a sentence");
  MUSTER_REQUIRED(std::vector<int>, ranks, "those missing, gone or late; may be empty");
  MUSTER_REQUIRED(std::vector<int>, arrived, "of absent and late: the others");
  // This process itself found that rank 0 is gone or was silent, so rank 0 reports nothing.
  bool without_rank_0 = false;
  MUSTER_REQUIRED(bool, broken, "the rank that gave up has a broken device") = false;
  MUSTER_REQUIRED(bool, explained, "by a setting, not by its node") = false;
};

using TroubleKind = Trouble::Kind;
MUSTER_WORDS(TroubleKind, "absent", "lost", "late", "given_up", "stopped");

// The phase that a process is in, and how far it has come.
struct Stage {
  MUSTER_DESCRIBED(Stage);
  MUSTER_REQUIRED(std::uint64_t, number, "of the phase, counted from the process's start") = 0;
  MUSTER_REQUIRED(bool, waits, "only for the texts of other ranks") = false;
  MUSTER_REQUIRED(bool, counted, "its operations are, and the limit is for each of them") = false;
  MUSTER_REQUIRED(std::uint64_t, started, "number of operations started") = 0;
  MUSTER_REQUIRED(std::uint64_t, finished, "number of operations finished") = 0;
  MUSTER_REQUIRED(std::string, unit, "\"operation\"; empty if the phase is a single one") = {};
  MUSTER_REQUIRED(Phase, phase, ""){"start", Part::starting};
  MUSTER_REQUIRED(Clock::duration, limit, ""){};
  Clock::time_point deadline = Clock::time_point::max();  // not sent to others

  // When to check it again: at its deadline, or earlier if it is counted, to notice soon that a
  // restarted limit has expired.
  [[nodiscard]] Clock::time_point next_check() const {
    constexpr int kChecks = 8;
    return counted ? std::min(deadline, Clock::now() + limit / kChecks) : deadline;
  }
};

// Conversions to text and back. The parsers return nothing for malformed text.
[[nodiscard]] std::string to_text(const Trouble& trouble);
[[nodiscard]] std::optional<Trouble> read_trouble(std::string_view text);
[[nodiscard]] std::string to_text(const Stage& stage);
[[nodiscard]] std::optional<Stage> read_stage(std::string_view text);

// "rank 3", "ranks 3,5-7"; "no rank".
[[nodiscard]] std::string ranks_in_words(const std::vector<int>& ranks);
// "2.5 s".
[[nodiscard]] std::string in_words(Clock::duration duration);

// The state of a rank when a phase takes too long.
struct RankStage {
  int rank = 0;
  std::string name;
  std::optional<Stage> stage;  // empty if it does not answer
};

// The trouble of a phase that took too long. It blames the ranks that do not answer. If all answer,
// it blames those that have entered fewer phases than others or still work while others wait for
// them. A rank that is behind but waits itself is blamed only if no other is. If all are in the
// same phase, it blames those that have started or finished the fewest operations.
[[nodiscard]] Trouble late_trouble(const Stage& overdue, const std::vector<RankStage>& ranks);

}  // namespace muster::bench
