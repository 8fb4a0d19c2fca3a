// SPDX-License-Identifier: Apache-2.0
// Lets a search measure the ranks of a job: rank 0 sends each round to all ranks, which take part
// in the groups of their nodes. A slow node tests itself from within: it runs `muster-bench node`
// as a separate process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/locate/locate.hpp"
#include "bench/locate/locate_command.hpp"
#include "bench/locate/rounds.hpp"
#include "bench/results/row.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/fields.hpp"

namespace muster::bench::locate {

inline constexpr std::chrono::seconds kInsideBudget{60};

struct NodeTests {
  MUSTER_DESCRIBED(NodeTests);
  MUSTER_REQUIRED(std::vector<std::string>, wrong, "failures, then warnings, a sentence each"){};
  MUSTER_REQUIRED(std::size_t, passed, "checks") = 0;
  MUSTER_REQUIRED(std::string, trouble, "why nothing was tested"){};
};

void add_evidence(const NodeTests& tests, Culprit& culprit);

// Returns the nodes that the ranks run on; an error unless each has the same number of ranks.
[[nodiscard]] Result<Nodes> nodes_of(const Agreement& agreed);

// A step that all ranks take together.
struct JobStep {
  enum class Kind : std::uint8_t { measure, account, test, end };
  MUSTER_DESCRIBED(JobStep);
  MUSTER_REQUIRED(Kind, kind, "") = Kind::end;
  MUSTER_REQUIRED(int, repeats, "") = 0;
  MUSTER_REQUIRED(std::vector<NodeGroup>, groups,
                  "a single one for `account`, single nodes for `test`"){};
};

using JobStepKind = JobStep::Kind;
MUSTER_WORDS(JobStepKind, "measure", "account", "test", "end");

// The result of a measurement on one rank.
struct RankResult {
  MUSTER_DESCRIBED(RankResult);
  MUSTER_REQUIRED(bool, finished, "") = true;
  MUSTER_REQUIRED(std::string, trouble, ""){};
  MUSTER_REQUIRED(Batch, batch, ""){};
};

class Job final : public Measurer {
 public:
  // All arguments must outlive the job.
  Job(RankContext& self, const Operation& operation, const LocateCommand& command);

  // Call this on rank 0. A group has not finished if its back end does not return within the
  // operation deadline, or if it has lost a rank. A node with a lost rank is not measured again,
  // nor is one with which none of three others ever finished.
  [[nodiscard]] Result<std::vector<GroupRates>> measure(const std::vector<NodeGroup>& groups,
                                                        int repeats) override;

  // Call this on rank 0. Runs one more operation, which NCCL logs.
  [[nodiscard]] Result<std::string> algorithm_among(const std::vector<Node>& nodes) override;

  [[nodiscard]] std::string loss_of(Node node) const override { return records_[node].loss; }

  // Call this on rank 0. These nodes run the command's tests on themselves, all at the same time.
  [[nodiscard]] Result<std::vector<NodeTests>> test(const std::vector<Node>& nodes);
  // Call this on rank 0, after the last round.
  [[nodiscard]] Result<void> end();
  // Call this on the other ranks. Takes part until end().
  [[nodiscard]] Result<void> serve();

  // On rank 0: one row with the wrong elements for each group of each round.
  [[nodiscard]] const std::vector<Row>& received() const { return received_; }

  // Why groups did not finish, a line each.
  [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  struct NodeRecord {
    bool finished = false;          // in some group
    std::vector<Node> hung_with{};  // partners
    std::string loss{};             // how a rank of it was lost; a sentence
  };

  // On rank 0: sends the step to all ranks, takes part in it, and returns the messages of all
  // ranks.
  [[nodiscard]] Result<std::vector<std::string>> order(const JobStep& step);
  // Returns the messages of all ranks on rank 0, and nothing elsewhere.
  [[nodiscard]] Result<std::vector<std::string>> take(const JobStep& step);
  [[nodiscard]] Result<std::vector<std::string>> take_measurement(const JobStep& step);
  [[nodiscard]] Result<std::vector<std::string>> take_account(const JobStep& step);
  // The back end of this rank's group; null for a rank without a partner.
  [[nodiscard]] Result<Backend*> begin_operation(const JobStep& step);
  void end_operation();
  [[nodiscard]] Result<std::vector<std::string>> take_test(const JobStep& step);
  [[nodiscard]] RankResult failure(std::string_view why) const;
  [[nodiscard]] Result<RankResult> run_backend(Backend& backend, int repeats);
  // The ranks of each group; every other rank is a separate part.
  [[nodiscard]] std::vector<RankPart> parts_of(const std::vector<NodeGroup>& groups) const;
  [[nodiscard]] std::vector<int> ranks_of(const NodeGroup& group) const;
  [[nodiscard]] GroupRates rates_of(const std::vector<int>& ranks,
                                    const std::vector<RankResult>& results, int repeats);
  void note_end(const NodeGroup& group, bool finished);
  void note_losses();
  [[nodiscard]] bool is_dead(const NodeGroup& group) const;

  RankContext& self_;
  Operation operation_;
  const LocateCommand& command_;
  int per_repeat_;  // operations
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  bool introduced_ = false;
  std::vector<NodeRecord> records_;
  std::size_t losses_ = 0;  // noted so far
  std::vector<Row> received_;
  std::vector<std::string> troubles_;
};

}  // namespace muster::bench::locate
