// SPDX-License-Identifier: Apache-2.0
// One run on one node, for enforce() and its steps: what is known, how Slurm is asked, and how it
// is said what happened.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "slurm/drains/enforce.hpp"

namespace muster::slurm {

// Slurm's times are whole seconds: after this, all drains of the second of ours are to be seen.
inline constexpr std::chrono::milliseconds kUntilRanked{1200};

class Run {
 public:
  Run(const Order& order, const Hands& hands);

  // What this node's history says.
  void recall();
  // What Slurm says now. False where it does not, and the situation has the reason.
  [[nodiscard]] bool look();

  // Sleeps, and leaves time for a look. Whether it was as long as asked for.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const;
  // Whether a drain can be sent, waited for, looked at, and undone where it is one too many.
  [[nodiscard]] bool has_time_to_drain() const;

  [[nodiscard]] bool is_drained() const;
  // Word for word: with another reason it is another's.
  [[nodiscard]] bool shows_own() const;

  // To be read; none where it could not be.
  [[nodiscard]] const History* history() const { return history_; }

  // To be written; none in a dry run either.
  [[nodiscard]] History* pen() const { return order.dry_run ? nullptr : history_; }

  // To be written about the drain of this run; none where it is not in there.
  [[nodiscard]] History* record() const { return is_unrecorded ? nullptr : pen(); }

  // To the history, to syslog and to standard output.
  void say(std::string_view kind, std::string message, std::string reason = "");
  // Once for each state of things since `since`, not in each run.
  void say_kept(std::optional<Time> since);
  // What the report calls for is not done. Said once for each reason why, and again every hour.
  void refuse(std::string why);
  // Nothing is called for any more: the next refusal is a new one.
  void end_refusal();
  // Slurm did not do what it was told, or did not say.
  void complain(std::string message);
  // Slurm could not be asked.
  void give_up();
  // What was to be written was not.
  void heed(const Result<void>& written);

  // What becomes of a drain that the history does not hold, as the end of a sentence; else empty.
  [[nodiscard]] std::string fate() const;

  const Order& order;
  const Hands& hands;
  Situation situation;
  Enforced result;
  bool knows_boot = true;      // Slurm was asked in this boot, or that cannot be told
  bool is_unrecorded = false;  // the history could not take the drain of this run

 private:
  [[nodiscard]] bool was_refused(std::string_view why) const;
  [[nodiscard]] std::chrono::milliseconds left() const;

  History* history_;
  std::chrono::milliseconds longest_look_{0};
  bool is_mute_ = false;  // events cannot be written
};

}  // namespace muster::slurm
