// SPDX-License-Identifier: Apache-2.0
// One run of enforce(): its state and its steps.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "slurm/drains/enforce.hpp"
#include "slurm/policy/node_memory.hpp"

namespace muster::slurm {

class Enforcement {
 public:
  Enforcement(const HookRequest& request, const HookServices& services);

  [[nodiscard]] HookResult run();

 private:
  [[nodiscard]] bool needs_slurm() const;
  void exclude_others();
  // Asks Slurm about the node and its partitions. On failure the situation says why.
  [[nodiscard]] bool look();
  // Sleeps, but leaves time to ask Slurm once more. Returns whether it slept as long as asked for.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const;
  [[nodiscard]] std::chrono::milliseconds time_left() const;
  // Whether there is time to drain the node, wait, ask Slurm, and undo a drain that is one too
  // many.
  [[nodiscard]] bool has_time_to_drain() const;
  [[nodiscard]] bool is_drained() const;
  // Whether the node is drained with this reason.
  [[nodiscard]] bool shows(std::string_view reason) const;
  // The text for the node's field in Slurm; nothing if muster may not write there.
  [[nodiscard]] std::optional<std::string> allowed_memory(std::string text) const;
  // Writes the node's memory if it is another. The next run repairs a failed write.
  void remember(const std::string& text);
  // The memory during this drain, with the reason that the node has if none is given.
  [[nodiscard]] std::string memory_of(const NodeMemory& drain, std::string_view reason) const;
  [[nodiscard]] std::string memory_of(const NodeMemory& drain) const;
  [[nodiscard]] Result<void> send_drain(const NodeMemory& drain, const std::string& reason) const;
  // Notes in the memory of a drain the host that it is about.
  void note_host(NodeMemory& drain) const;
  // Whether a boot since the drain may be Slurm's own, by power saving.
  [[nodiscard]] bool is_power_saved(const NodeMemory& drain) const;

  // Finds out what happened since the last run: others resumed the node, or a drain that was
  // sent by an earlier run was applied late.
  void reconcile();
  void release(const NodeMemory& drain);
  // Resets the count of clean runs if this run is unclean, and makes a worse fault the reason.
  void count_unclean_run();
  void worsen(const NodeMemory& drain, const Finding& found);
  // Updates the number of further faults in the reason if it has changed.
  void correct_reason(const NodeMemory& drain, const Finding& found);
  // Takes over the drain of the host that had this host's name before.
  void renew(const NodeMemory& drain, const Finding& found);
  // Changes the reason of a node that is drained, and reports it as an event of this kind.
  void change_drain(const NodeMemory& drain, const Finding& found, std::string_view kind,
                    std::string message);
  void act();
  void drain();
  void verify_drain(const Result<void>& sent, bool is_compared);
  void keep();
  void resume();
  [[nodiscard]] bool put_back(std::optional<Time> uncounted);
  // Undoes a drain that was one too many: it does not count as a flap.
  void take_back(std::string message);
  void leave_alone();
  void refuse(std::string_view why);
  void note_refusal();
  // Decides without Slurm.
  void give_up();
  void note_look() const;

  // Reports an event, which is added to the history when everything is done.
  void report(std::string_view kind, std::string message, std::string reason = "");
  // Fills in everything but the check, the device and the texts from this run.
  void report(Event event);
  // Reports why the node stays drained: once per reason, not in every run.
  void report_kept(std::optional<Time> since);
  void report_problem(std::string message);
  // Reports that a refused drain is no longer needed.
  void report_end_of_refusal();
  [[nodiscard]] bool has_passed(std::string_view check) const;
  [[nodiscard]] bool was_refused(std::string_view message) const;
  [[nodiscard]] std::vector<Event> past_events(const EventFilter& filter) const;
  void write_history();
  // "ib.rate mlx5_ib5: TEXT", for the check and device of the decision.
  [[nodiscard]] std::string about_fault(std::string_view text) const;

  const HookRequest& request_;
  const HookServices& services_;
  Situation situation_;
  HookResult result_;
  std::chrono::milliseconds longest_look_{0};
  bool refusal_lasts_ = false;  // of a check that this run has not judged
};

}  // namespace muster::slurm
