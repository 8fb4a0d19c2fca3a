// SPDX-License-Identifier: Apache-2.0
// What muster did to nodes, what it refused to do, and what sweeps found: one SQLite file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "slurm/history/event.hpp"
#include "slurm/history/sweep_run.hpp"
#include "slurm/policy/decide.hpp"

namespace muster::slurm {

struct HistoryFile;

struct EventFilter {
  std::vector<std::string> nodes;  // empty: all
  std::vector<std::string> kinds;
  std::optional<Time> since;
  std::int64_t after_id = 0;  // for those who follow
  std::size_t most = 0;       // the newest that many; 0: all
};

class History {
 public:
  // Creates the file (mode 0600) and its folder. A file of a newer muster is an error; a file that
  // is no database, or is damaged, is put aside as `<file>.corrupt` and begun again: `note` says
  // so.
  [[nodiscard]] static Result<History> open(const std::filesystem::path& file);
  // Opens it for reading alone: an error where it does not exist.
  [[nodiscard]] static Result<History> read(const std::filesystem::path& file);
  // Opens it for one look: nothing is written, not even what SQLite keeps beside a file that is
  // read.
  [[nodiscard]] static Result<History> peek(const std::filesystem::path& file);

  History(History&& other) noexcept;
  History& operator=(History&& other) noexcept;
  ~History();

  [[nodiscard]] const std::string& note() const;

  [[nodiscard]] Result<void> add(const Event& event);
  [[nodiscard]] Result<std::vector<Event>> events(const EventFilter& filter) const;  // oldest first

  // The drain of `node` that has not ended, and when it and those before it began, since an admin
  // last resumed the node.
  [[nodiscard]] Result<std::optional<OwnDrain>> drain_of(std::string_view node) const;
  [[nodiscard]] Result<std::vector<Time>> drains_of(std::string_view node) const;
  // Before it is sent: a drain that nobody can tell of later is undone by nobody but an admin.
  // False, and nothing is changed, where the drain that has not ended is not `last`: another
  // process of this node began one meanwhile.
  [[nodiscard]] Result<bool> begin_drain(std::string_view node, const OwnDrain& drain,
                                         const std::optional<OwnDrain>& last = std::nullopt);
  // What follows changes the record of `drain` alone, which is named by its time and its reason:
  // where another one is open by now, nothing is changed.
  [[nodiscard]] Result<void> confirm_drain(std::string_view node, const OwnDrain& drain);
  // After a run on a drained node: one more clean run in a row, or the count begins again, and with
  // it the resume; and the boot it was in.
  [[nodiscard]] Result<void> note_run(std::string_view node, const OwnDrain& drain, bool clean,
                                      std::string_view boot);
  // What was found later and is graver: check, remedy, boot and reason become those of `worse`.
  [[nodiscard]] Result<void> worsen_drain(std::string_view node, const OwnDrain& drain,
                                          const OwnDrain& worse);
  // Before Slurm is told to resume the node: whoever finds it in service knows then who did it.
  // False, and nothing is changed, where the drain is not `drain` or was found unclean meanwhile.
  [[nodiscard]] Result<bool> begin_resume(std::string_view node, const OwnDrain& drain);
  // Slurm did not resume it: whoever finds the node in service later does not take it for ours.
  [[nodiscard]] Result<void> cancel_resume(std::string_view node, const OwnDrain& drain);
  [[nodiscard]] Result<void> end_drain(std::string_view node, const OwnDrain& drain, Time at);
  // An admin resumed the node: its drains that ended do not count as flaps any more.
  [[nodiscard]] Result<void> forget_flaps(std::string_view node);
  // One that never came into force, or was taken back at once: it does not count as a flap.
  [[nodiscard]] Result<void> cancel_drain(std::string_view node, const OwnDrain& drain, Time at);

  // The boot in which Slurm was last asked about `node`; empty for none.
  [[nodiscard]] Result<std::string> boot_of(std::string_view node) const;
  [[nodiscard]] Result<void> note_boot(std::string_view node, std::string_view boot);
  // Makes every boot unknown, even where `file` itself cannot be written, as on a full disk.
  static void forget_boots(const std::filesystem::path& file);

  // Whether Slurm was ever asked about `node`, whatever boots have been forgotten since.
  [[nodiscard]] Result<bool> knows(std::string_view node) const;

  // To be called before a job of a sweep is submitted, so that its result is recognised whatever
  // happens. Returns the number of the run.
  [[nodiscard]] Result<std::int64_t> begin_sweep(const SweepRun& run);
  [[nodiscard]] Result<void> note_sweep_job(std::int64_t id, std::string_view job);
  // Writes the end of a run and its events, together or not at all; with the nodes that the run is
  // about now, and further runs that it comes to for the others.
  [[nodiscard]] Result<void> end_sweep(const SweepRun& run, const std::vector<Event>& events,
                                       const std::vector<SweepRun>& further = {});
  // The sweeps in the order in which they ended, and then those that are open.
  [[nodiscard]] Result<std::vector<SweepRun>> sweeps() const;

 private:
  explicit History(HistoryFile&& file);
  static Result<History> from(Result<HistoryFile> file);

  std::unique_ptr<HistoryFile> file_;
};

}  // namespace muster::slurm
