// SPDX-License-Identifier: Apache-2.0
// The ranks of a job as what a search measures: rank 0 asks, and all ranks answer together, each in
// the group of its node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/locate/inside.hpp"
#include "bench/locate/locate_command.hpp"
#include "bench/locate/measurer.hpp"
#include "bench/results/row.hpp"
#include "bench/run/rank_context.hpp"

namespace muster::bench::locate {

// The nodes that ranks run on. An error where there are fewer ranks on one than on another.
[[nodiscard]] Result<Nodes> nodes_of(const Agreement& agreed);

class Job final : public Measurer {
 public:
  // All must live longer.
  Job(RankContext& self, const Operation& operation, const LocateCommand& command);

  // On rank 0. A group whose back end does not come back within the operation deadline has not
  // finished, nor one of which a rank is lost. A node with a lost rank is not asked again, nor one
  // with which none of three others has ever finished.
  [[nodiscard]] Result<std::vector<Answer>> measure(const std::vector<Group>& groups,
                                                    int repeats) override;

  [[nodiscard]] std::string loss_of(Node node) const override { return records_[node].loss; }

  // On rank 0: each of these nodes tests itself, all at once, by the tests of `muster-bench node`
  // that the command names. What they say, in the same order.
  [[nodiscard]] Result<std::vector<Inside>> test(const std::vector<Node>& nodes);
  // On rank 0: there are no more rounds.
  [[nodiscard]] Result<void> end();
  // On the other ranks: takes part in all rounds.
  [[nodiscard]] Result<void> serve();

  // On rank 0, what was received so far: a row for each group of each round, with what was wrong.
  [[nodiscard]] const std::vector<Row>& received() const { return received_; }

  // Why groups did not finish, by the ranks that had an error; a line each.
  [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  // What all ranks do at once.
  struct Task {
    enum class Kind : std::uint8_t { measure, test, end };
    Kind kind = Kind::end;
    int repeats = 0;
    std::vector<Group> groups;  // to test, one of single nodes
  };

  // How it went on one rank.
  struct RankResult {
    bool finished = true;
    std::string trouble;
    Batch batch;
  };

  [[nodiscard]] static std::string to_text(const Task& task);
  [[nodiscard]] static Result<Task> parse_task(std::string_view text);
  [[nodiscard]] static std::string to_text(const RankResult& result);
  [[nodiscard]] static Result<RankResult> parse_result(std::string_view text, int rank);

  // On rank 0: tells all ranks what to do, and does its part. The texts of all ranks.
  [[nodiscard]] Result<std::vector<std::string>> order(const Task& task);
  // The texts of all ranks on rank 0; elsewhere nothing.
  [[nodiscard]] Result<std::vector<std::string>> take_part(const Task& task);
  [[nodiscard]] Result<std::vector<std::string>> measure_part(const Task& task);
  [[nodiscard]] Result<std::vector<std::string>> test_part(const Task& task);
  [[nodiscard]] RankResult failed(std::string_view why) const;
  [[nodiscard]] RankResult run(Backend& backend, int repeats);
  // The ranks of each group, and behind them each of the others alone.
  [[nodiscard]] std::vector<RankPart> parts_of(const std::vector<Group>& groups) const;
  [[nodiscard]] std::vector<int> ranks_of(const Group& group) const;
  [[nodiscard]] Answer answer_of(const std::vector<int>& ranks,
                                 const std::vector<RankResult>& results, int repeats);
  void note_end(const Group& group, bool finished);
  // The nodes of ranks that were lost since.
  void note_losses();
  [[nodiscard]] bool is_dead(const Group& group) const;

  // What the groups of a node came to.
  struct Record {
    bool finished = false;
    std::vector<Node> hung_with;
    std::string loss = {};  // of a rank of it; a sentence, empty where none is lost
  };

  RankContext& self_;
  Operation operation_;
  const LocateCommand& command_;
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  bool introduced_ = false;
  std::vector<Record> records_;
  std::size_t losses_ = 0;  // that are noted
  std::vector<Row> received_;
  std::vector<std::string> troubles_;
};

}  // namespace muster::bench::locate
