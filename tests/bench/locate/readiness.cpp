// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/locate/readiness.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "bench/results/statistics.hpp"

namespace muster::bench::locate {
namespace {

constexpr int kRepeats = 20;  // as nccl-tests does

class Procedure {
 public:
  Procedure(std::size_t nodes, Measurer& measurer, const Thresholds& thresholds)
      : measurer_(measurer), thresholds_(thresholds), left_(nodes) {
    std::iota(left_.begin(), left_.end(), Node{0});
  }

  [[nodiscard]] Result<Readiness> run() {
    if (auto done = screen_inside(false, thresholds_.inside_gbps); !done) return error(done);
    if (auto done = screen_inside(true, thresholds_.gbps); !done) return error(done);
    while (left_.size() > 1) {
      const auto before = result_.accused.size();
      TRY_ASSIGN(const auto low, run_groups({{.nodes = left_}}, thresholds_.gbps));
      if (!low.front()) break;
      if (auto done = bisect(); !done) return error(done);
      if (result_.accused.size() == before) break;
    }
    return std::move(result_);
  }

 private:
  static tl::unexpected<Error> error(const Result<void>& result) {
    return tl::unexpected(result.error());
  }

  // One job; which of its groups are below the threshold.
  [[nodiscard]] Result<std::vector<bool>> run_groups(const std::vector<Group>& groups,
                                                     double threshold) {
    ++result_.runs;
    TRY_ASSIGN(auto answers, measurer_.measure(groups, kRepeats));
    std::vector<bool> low;
    for (auto& answer : answers) {
      low.push_back(!answer.finished || median_of(std::move(answer.gbps)) < threshold);
    }
    return low;
  }

  void accuse(Node node) {
    result_.accused.push_back(node);
    std::erase(left_, node);
  }

  [[nodiscard]] Result<void> screen_inside(bool without_nvlink, double threshold) {
    std::vector<Group> groups;
    for (const auto node : left_) {
      groups.push_back({.nodes = {node}, .without_nvlink = without_nvlink});
    }
    TRY_ASSIGN(const auto low, run_groups(groups, threshold));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (low[i]) accuse(groups[i].nodes[0]);
    }
    return {};
  }

  [[nodiscard]] Result<void> bisect() {
    auto nodes = left_;
    while (nodes.size() > 2) {
      const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
      const std::vector<Node> first(nodes.begin(), middle);
      const std::vector<Node> second(middle, nodes.end());
      TRY_ASSIGN(const auto low,
                 run_groups({{.nodes = first}, {.nodes = second}}, thresholds_.gbps));
      if (!low[0] && !low[1]) return cross(first, second);
      nodes = low[0] ? first : second;
    }
    return confirm(nodes);
  }

  // Each suspect with a node outside of the group that is slow.
  [[nodiscard]] Result<void> confirm(const std::vector<Node>& suspects) {
    std::vector<Node> others;
    std::ranges::copy_if(left_, std::back_inserter(others),
                         [&](Node node) { return std::ranges::count(suspects, node) == 0; });
    std::vector<Group> groups;
    for (std::size_t i = 0; i < std::min(suspects.size(), others.size()); ++i) {
      groups.push_back({.nodes = {suspects[i], others[others.size() - 1 - i]}});
    }
    TRY_ASSIGN(const auto low, run_groups(groups, thresholds_.gbps));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (low[i]) accuse(groups[i].nodes[0]);
    }
    return {};
  }

  [[nodiscard]] Result<void> cross(const std::vector<Node>& first,
                                   const std::vector<Node>& second) {
    std::vector<Group> groups;
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
      groups.push_back({.nodes = {first[i], second[i]}});
    }
    TRY_ASSIGN(const auto low, run_groups(groups, thresholds_.gbps));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (!low[i]) continue;
      accuse(groups[i].nodes[0]);
      accuse(groups[i].nodes[1]);
    }
    return {};
  }

  Measurer& measurer_;
  Thresholds thresholds_;
  std::vector<Node> left_;
  Readiness result_;
};

}  // namespace

Result<Readiness> readiness_procedure(std::size_t nodes, Measurer& measurer,
                                      const Thresholds& thresholds) {
  return Procedure(nodes, measurer, thresholds).run();
}

}  // namespace muster::bench::locate
