// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "bench/results/statistics.hpp"

namespace muster::bench::locate {
namespace {

std::vector<std::vector<double>> repeats_of(const std::vector<Answer>& answers) {
  std::vector<std::vector<double>> repeats;
  for (const auto& answer : answers) {
    if (answer.finished) repeats.push_back(answer.gbps);
  }
  return repeats;
}

Round round_of(std::vector<Group> groups, std::vector<Answer> answers, int repeats) {
  Round round{.groups = std::move(groups), .gbps = {}};
  round.noise = noise_of_median(noise_of(repeats_of(answers)), static_cast<std::size_t>(repeats));
  round.gbps.reserve(answers.size());
  for (auto& answer : answers) {
    const bool numbers = answer.finished && !answer.gbps.empty();
    round.gbps.push_back(numbers ? std::optional(median_of(std::move(answer.gbps))) : std::nullopt);
  }
  return round;
}

}  // namespace

std::vector<double> finished(const Round& round, std::size_t from) {
  std::vector<double> values;
  for (auto i = from; i < round.size(); ++i) {
    if (round.gbps[i]) values.push_back(*round.gbps[i]);
  }
  return values;
}

Scale scale_from(const Round& round, std::size_t from, const Scale& usual, const Rule& rule) {
  const double deviation = std::max(usual.deviation / usual.median, round.noise);
  return scale_around(finished(round, from), deviation, rule).value_or(usual);
}

// What did not finish once is not asked again: it would cost its deadline each time.
Result<void> Rounds::add(const std::vector<Group>& groups, int repeats,
                         std::vector<Answer>& answers) {
  std::vector<Group> left;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!answers[i].finished) continue;
    left.push_back(groups[i]);
    of.push_back(i);
  }
  TRY_ASSIGN(auto more, measurer_.measure(left, repeats));
  if (more.size() != left.size()) {
    return make_error(fmt::format("{} answers for {} groups", more.size(), left.size()));
  }
  operations_ += left.size() * static_cast<std::uint64_t>(repeats);
  for (std::size_t i = 0; i < of.size(); ++i) {
    auto& answer = answers[of[i]];
    answer.finished = more[i].finished;
    answer.gbps.insert(answer.gbps.end(), more[i].gbps.begin(), more[i].gbps.end());
  }
  return {};
}

Result<Round> Rounds::measure(std::string_view title, std::vector<Group> groups,
                              std::optional<int> fixed) {
  ++count_;
  if (watch_) watch_(fmt::format("round {}: {}", count_, title), groups.size());
  std::vector<Answer> answers(groups.size());
  int repeats = fixed.value_or(rule_.first_repeats);
  if (auto done = add(groups, repeats, answers); !done) return tl::unexpected(done.error());
  const int needed = fixed.value_or(repeats_for(noise_of(repeats_of(answers)), rule_));
  if (needed > repeats) {
    if (auto done = add(groups, needed - repeats, answers); !done) {
      return tl::unexpected(done.error());
    }
    repeats = needed;
  }
  return round_of(std::move(groups), std::move(answers), repeats);
}

Result<std::optional<double>> Rounds::measure_one(std::string_view title,
                                                  const std::vector<Node>& nodes) {
  TRY_ASSIGN(const auto round, measure(title, {{.nodes = nodes}}));
  return round.gbps.front();
}

Result<Round> Rounds::measure_in_turns(std::string_view title, std::vector<Group> groups,
                                       std::size_t most_nodes) {
  Round all;
  for (auto next = groups.begin(); next != groups.end();) {
    std::set<Node> working;
    auto end = next;
    for (; end != groups.end(); ++end) {
      working.insert(end->nodes.begin(), end->nodes.end());
      if (end != next && working.size() > most_nodes) break;
    }
    const auto turn = measure(title, {next, end});
    if (!turn) return turn;
    all.groups.insert(all.groups.end(), turn->groups.begin(), turn->groups.end());
    all.gbps.insert(all.gbps.end(), turn->gbps.begin(), turn->gbps.end());
    all.noise = std::max(all.noise, turn->noise);
    next = end;
  }
  return all;
}

Result<std::optional<double>> Rounds::together(const std::vector<Node>& nodes) {
  if (watch_) watch_("all together", 1);
  std::vector<Answer> answers(1);
  if (auto done = add({{.nodes = nodes}}, rule_.first_repeats, answers); !done) {
    return tl::unexpected(done.error());
  }
  return round_of({{.nodes = nodes}}, std::move(answers), rule_.first_repeats).gbps.front();
}

}  // namespace muster::bench::locate
