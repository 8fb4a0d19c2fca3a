// SPDX-License-Identifier: Apache-2.0
// One run of a hook on one node: what is known about the node, how Slurm is asked, and how people
// are told what happened.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "slurm/drains/enforce.hpp"

namespace muster::slurm {

// Slurm counts time in whole seconds: after this long, all drains of the same second as ours can be
// seen.
inline constexpr std::chrono::milliseconds kUntilRanked{1200};

class Run {
 public:
  Run(const HookRequest& request, const HookServices& services);

  // Reads what the history knows about this node.
  void recall();
  // Waits until no other hook of this node acts, and recalls again; or says that it goes on
  // without.
  void exclude_others();
  // Judges the node for whether the drain of the situation may end.
  void judge_again();
  // Asks Slurm about the node and its partitions. False where Slurm does not answer; then the
  // situation says why.
  [[nodiscard]] bool look();

  // Sleeps, but leaves time to ask Slurm once more. Whether it slept as long as asked for.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const;
  // Whether there is time to drain the node, wait, ask Slurm, and undo a drain that is one too
  // many.
  [[nodiscard]] bool has_time_to_drain() const;

  [[nodiscard]] bool is_drained() const;
  // Whether the node is drained with our reason, word for word. Any other drain is somebody else's.
  [[nodiscard]] bool shows_own() const;

  // Null where there is none or it cannot be read.
  [[nodiscard]] const History* history() const { return history_; }

  // Null in a dry run, too.
  [[nodiscard]] History* writable_history() const { return request.dry_run ? nullptr : history_; }

  // The history if it holds the drain of this run, to be written; else null.
  [[nodiscard]] History* own_drain_record() const {
    return is_unrecorded ? nullptr : writable_history();
  }

  // Writes a drain to the history. False where another process of this node has a drain there by
  // now. A history that cannot be written leaves no sick node in service: the fault that it was
  // found sick with may be the cause.
  [[nodiscard]] bool record(const OwnDrain& drain);

  // What the node's field in Slurm is to say; nothing where muster may not write there.
  [[nodiscard]] std::optional<std::string> memory_text(std::string text) const;
  // Writes it there, where it says something else. What is not written is written by a later run.
  void remember(const std::string& text) const;

  // Says what happened: to the history, to syslog and on standard output.
  void say(std::string_view kind, std::string message, std::string reason = "");
  // Says why the node stays drained: once for each reason since `since`, not in each run.
  void say_kept(std::optional<Time> since);
  // Says which check calls for a drain that is not done, and why not: once for each reason, and
  // again every hour.
  void refuse(std::string_view why);
  // Nothing is called for any more, so the next refusal is a new one.
  void end_refusal();
  // Says that Slurm did not do what it was told, or did not answer.
  void complain(std::string message);
  // Decides without Slurm, which could not be asked, and says so.
  void give_up();
  // Says why the history could not be written, if it could not.
  void warn_if_failed(const Result<void>& written);

  // "ib.rate mlx5_ib5: TEXT", of what the decision is about.
  [[nodiscard]] std::string about_fault(std::string_view text) const;

  // The end of a sentence: what becomes of a drain that the history does not hold. Empty where it
  // holds it.
  [[nodiscard]] std::string unrecorded_drain_note() const;

  const HookRequest& request;
  const HookServices& services;
  Situation situation;
  HookResult result;
  bool knows_boot = true;      // Slurm was asked in this boot, or that cannot be told
  bool was_rebooted = false;   // since the last run that the drain's record knows of
  bool is_unrecorded = false;  // the history could not take the drain of this run

 private:
  [[nodiscard]] bool was_refused(std::string_view message) const;
  void note_refusal() const;
  [[nodiscard]] std::chrono::milliseconds left() const;

  History* history_;
  std::chrono::milliseconds longest_look_{0};
  bool is_mute_ = false;  // events cannot be written
};

}  // namespace muster::slurm
