// SPDX-License-Identifier: Apache-2.0
// The folder of a run of `muster accept`. Its files are authoritative: each is written under a
// temporary name, synced and renamed, and a result never changes.
//
//   run.json                        the order: nodes, plan
//   nodes/NODE/STAGE.NUMBER.json    an attempt, with the node's answer as "answer" and its checksum
//                                   as "answer_sha256"
//   group/STAGE.NUMBER.json         an attempt by several nodes
//   .../STAGE.NUMBER.started        an attempt that has begun, until its result is written
//   decisions/NUMBER.json           a decision by the admin
//   journal.jsonl                   one line for each start and end, only to be read by people
//   driver.lock                     held by the driver, with its host and process
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "accept/attempt_files.hpp"
#include "lib/accept/next.hpp"
#include "lib/accept/plan.hpp"
#include "lib/accept/step.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/report/report.hpp"

namespace muster::accept {

template <class T>
using OrFailure = tl::expected<T, Failure>;

// Called before and after each write of a file. An error before the write makes it fail. Tests kill
// the process here.
using WriteHook = std::function<Result<void>(const std::filesystem::path& file, bool written)>;

// A .started file.
struct StartedAttempt {
  static constexpr std::string_view kSchema = "muster.started/1";
  MUSTER_DESCRIBED(StartedAttempt);
  MUSTER_REQUIRED(std::int64_t, at, "Unix time") = 0;
  MUSTER_FIELD(std::int64_t, deadline, "Unix time") = 0;
  MUSTER_FIELD(std::string, who, "user");
  MUSTER_FIELD(std::string, host, "where the driver runs");
  MUSTER_FIELD(std::int64_t, pid, "process id of the driver") = 0;
  MUSTER_UNLESS_EMPTY(std::string, job, "Slurm job");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, nodes, "only for a group");
};

class RunFolder {
 public:
  enum class Use { read, drive };

  // Creates and locks the folder. If it exists, it must be empty.
  [[nodiscard]] static OrFailure<RunFolder> create(const std::filesystem::path& path, Order order,
                                                   WriteHook hook = {});
  // Opens a run. Use::drive locks the folder, ends the attempts that an earlier driver left behind,
  // and sets damaged results aside. The error is `missing` if the folder has no run.
  [[nodiscard]] static OrFailure<RunFolder> open(const std::filesystem::path& path, Use use,
                                                 WriteHook hook = {});

  // An absolute path.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  [[nodiscard]] const Order& order() const { return order_; }

  // The user who drives the run; empty if the folder is only read.
  [[nodiscard]] const std::string& who() const { return who_; }

  // Attempts that were started but have no result are `running`, or interrupted if no driver holds
  // the folder.
  [[nodiscard]] const Results& results() const { return results_; }

  [[nodiscard]] Result<void> begin(const NodeStart& step, std::int64_t now);
  [[nodiscard]] Result<void> begin(const GroupStart& step, std::int64_t now);
  // Records the result of an attempt that has begun.
  [[nodiscard]] Result<void> end(const Attempt& attempt, const std::optional<StepAnswer>& answer);
  [[nodiscard]] Result<void> end(const GroupAttempt& attempt,
                                 const std::optional<StepAnswer>& answer);
  // Records a decision about all attempts so far: the clocks of drivers differ, so its time is
  // later than theirs, and attempts begin later than the last decision.
  [[nodiscard]] Result<void> decide(Decision decision);

  // The newest time on record; a simulated fleet's clock is ahead.
  [[nodiscard]] std::int64_t latest() const;

  // Reads the answer in the file of an attempt; empty if it has none.
  template <class A>
  [[nodiscard]] Result<std::optional<StepAnswer>> answer(const A& attempt) const;

  // Replaces a file in the folder, such as page.html.
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view content) const;

 private:
  using Key = std::tuple<std::string, Stage, std::int64_t>;  // the name is empty for a group

  RunFolder(const std::filesystem::path& path, WriteHook hook);

  [[nodiscard]] OrFailure<void> lock();
  [[nodiscard]] bool is_driven() const;
  [[nodiscard]] Result<void> read_results(Use use);
  template <class A>
  [[nodiscard]] Result<void> take_attempts(std::vector<AttemptFile<A>> files, const A& like,
                                           Use use);
  template <class A>
  [[nodiscard]] Result<A> checked_attempt(const A& named, Result<A> read, Use use);
  [[nodiscard]] Result<void> read_decisions();
  template <class A>
  [[nodiscard]] Result<void> begin_attempt(A attempt);
  template <class A>
  [[nodiscard]] Result<void> end_attempt(const A& attempt, const std::optional<StepAnswer>& answer);
  template <class A>
  [[nodiscard]] static Key key_of(const A& attempt);
  template <class A>
  void remember(A attempt);
  template <class A>
  void note(const std::string& name, const A& attempt, std::string sha256) const;

  std::filesystem::path path_;
  WriteHook hook_;
  Descriptor lock_;
  bool watched_ = false;  // only read, while a driver holds the lock
  std::string who_;       // the user who drives the run
  Order order_;
  Results results_;
  std::int64_t decided_ = 0;           // the time of the last decision
  std::map<Key, std::size_t> places_;  // indices in results_
};

// Makes a new order of these nodes, with a new id.
[[nodiscard]] Order make_order(Plan plan, std::vector<OrderedNode> nodes);

}  // namespace muster::accept
