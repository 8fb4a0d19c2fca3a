// SPDX-License-Identifier: Apache-2.0
// What the runs of past sweeps say about nodes: which are good, which are suspects, and which are
// confirmed to be bad. Pure: from a list of runs to a judgement.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/history/sweep_run.hpp"

namespace muster::slurm {

// A clock that ran ahead once must not stop sweeps for as long: a time well after `now` becomes the
// last one before it. `runs` as SweepBook wants them, before and after.
void mend_times(std::vector<SweepRun>& runs, Time now);

enum class Trust { good, untested, suspect, confirmed };

[[nodiscard]] std::string_view to_string(Trust trust);

struct SweepFailure {
  Time at{};
  std::size_t run = 0;              // its number; two that end in one second have an order, too
  std::vector<std::string> others;  // who took part; nobody where the node was alone
};

// One node in one kind of sweep.
struct SweepRecord {
  std::optional<Time> tried;           // when a job was last submitted, whatever came of it
  std::optional<Time> swept;           // last result that said something about this node
  std::size_t passed = 0;              // the number of the last healthy run, from 1; 0 if none
  std::optional<Time> nothing;         // the last run after `swept` that was undecided
  int undecided = 0;                   // so many, in a row
  std::vector<SweepFailure> failures;  // since it passed; not those that another node explains
  bool failed_again = false;           // after another node had passed meanwhile
  std::map<std::string, Time, std::less<>> partners;  // when they were last together
};

class SweepBook {
 public:
  using Records = std::map<std::string, SweepRecord, std::less<>>;  // by node

  // `runs` in the order in which they ended; open ones last. `partners`: as in SweepRules.
  SweepBook(const std::vector<SweepRun>& runs, int partners);

  void add(const SweepRun& run);

  // Null where the node was never swept in this kind.
  [[nodiscard]] const SweepRecord* record(std::string_view kind, std::string_view node) const;
  [[nodiscard]] const Records& records(std::string_view kind) const;
  [[nodiscard]] Trust trust(std::string_view kind, std::string_view node) const;
  // The worst of all kinds; untested where no kind says more.
  [[nodiscard]] Trust trust(std::string_view node) const;
  // Whether one more run of this suspect can say more than the last one did.
  [[nodiscard]] bool can_tell_more(std::string_view kind, std::string_view partition,
                                   const SweepRecord& record) const;

 private:
  struct Kind {
    Records records;
    std::map<std::string, std::size_t, std::less<>> passes;  // the last run, by partition
  };

  [[nodiscard]] static bool passed_since(const Kind& kind, const SweepFailure& failure);
  [[nodiscard]] static bool another_passed(const Kind& kind, const SweepRun& run,
                                           const SweepRecord& record);
  [[nodiscard]] static std::size_t counted(const Kind& kind, const SweepRecord& record);
  [[nodiscard]] Trust trust(const Kind& kind, const SweepRecord& record) const;
  void pass(Kind& kind, const SweepRun& run) const;
  void fail(Kind& kind, const SweepRun& run, const std::vector<std::string>& blamed) const;
  [[nodiscard]] std::vector<std::string> blamed_for(const SweepRun& run) const;

  std::size_t partners_;
  std::size_t runs_ = 0;
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace muster::slurm
