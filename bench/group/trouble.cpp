// SPDX-License-Identifier: Apache-2.0
#include "bench/group/trouble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"

namespace muster {

static void read_json(const JsonReader& json, Clock::duration& duration) {
  std::int64_t count = 0;
  json.read(count);
  duration = Clock::duration(count);
}

static void write_json(JsonWriter& json, const Clock::duration& duration) {
  json.write(std::int64_t{duration.count()});
}

}  // namespace muster

namespace muster::bench {
namespace {

constexpr std::size_t kMaxNamed = 8;

template <class T>
std::optional<T> read(std::string_view text) {
  auto value = from_json<T>(text);
  if (!value) return std::nullopt;
  value->phase.name = printable(value->phase.name);
  return *std::move(value);
}

std::string name_of(const RankStage& rank) {
  return rank.name.empty() ? fmt::format("rank {}", rank.rank)
                           : fmt::format("rank {} ({})", rank.rank, rank.name);
}

// Messages count operations from 1.
std::string progress_text(const Stage& stage) {
  const auto unit =
      stage.unit.empty() ? std::string("it") : fmt::format("{} {}", stage.unit, stage.finished + 1);
  return stage.started > stage.finished ? fmt::format("has started {} and not finished it", unit)
                                        : fmt::format("has not started {}", unit);
}

std::string state_of(const RankStage& rank, const Stage& overdue) {
  if (!rank.stage) return fmt::format("{} does not answer", name_of(rank));
  if (rank.stage->number != overdue.number) {
    return fmt::format("{} is still in the phase \"{}\"", name_of(rank), rank.stage->phase.name);
  }
  if (rank.stage->counted) return fmt::format("{} {}", name_of(rank), progress_text(*rank.stage));
  return fmt::format("{} keeps the others waiting in it", name_of(rank));
}

// Within a phase, a rank that waits is further than one that works.
auto progress_of(const RankStage& rank) { return std::pair(rank.stage->number, rank.stage->waits); }

auto operations_of(const RankStage& rank) {
  return std::pair(rank.stage->started, rank.stage->finished);
}

using Ranks = std::vector<const RankStage*>;

// The ranks at work that have come the least far in the operations of one phase.
Ranks slowest_of(const Ranks& ranks) {
  const auto is_counted = [](const RankStage* rank) {
    return rank->stage && rank->stage->counted && !rank->stage->waits;
  };
  if (ranks.empty() || !std::ranges::all_of(ranks, is_counted)) return ranks;
  const auto* least = *std::ranges::min_element(
      ranks, {}, [](const RankStage* rank) { return operations_of(*rank); });
  Ranks slowest;
  for (const auto* rank : ranks) {
    if (operations_of(*rank) == operations_of(*least)) slowest.push_back(rank);
  }
  return slowest;
}

// See late_trouble(). Empty if all ranks are equally far.
Ranks find_culprits(const std::vector<RankStage>& ranks) {
  Ranks silent;
  Ranks answering;
  for (const auto& rank : ranks) (rank.stage ? answering : silent).push_back(&rank);
  if (!silent.empty()) return silent;
  const auto progress = [](const RankStage* rank) { return progress_of(*rank); };
  const auto [least, furthest] = std::ranges::minmax_element(answering, {}, progress);
  Ranks behind;
  Ranks last;
  for (const auto* rank : answering) {
    if (progress(rank) < progress(*furthest) && !rank->stage->waits) behind.push_back(rank);
    if (progress(rank) == progress(*least)) last.push_back(rank);
  }
  const bool one_phase = (*least)->stage->number == (*furthest)->stage->number;
  if (!behind.empty()) return one_phase ? slowest_of(behind) : behind;
  if (one_phase) last = slowest_of(last);
  return last.size() == ranks.size() ? Ranks{} : last;
}

// If no rank is to blame.
std::string common_state(const Stage& stage, bool alone) {
  if (stage.unit.empty() || stage.waits) {
    return alone ? "this process is still in it" : "all ranks are still in it";
  }
  return fmt::format("{} {}", alone ? "this process" : "each rank", progress_text(stage));
}

}  // namespace

std::string to_text(const Trouble& trouble) { return to_json_line(trouble); }

std::optional<Trouble> read_trouble(std::string_view text) {
  constexpr std::size_t kMaxWords = 4096;
  auto trouble = read<Trouble>(text);
  if (trouble) trouble->what = printable(trouble->what, kMaxWords);
  return trouble;
}

std::string to_text(const Stage& stage) { return to_json_line(stage); }

std::optional<Stage> read_stage(std::string_view text) {
  auto stage = read<Stage>(text);
  if (stage) stage->unit = printable(stage->unit);
  return stage;
}

std::string ranks_in_words(const std::vector<int>& ranks) {
  if (ranks.empty()) return "no rank";
  const std::vector<unsigned> numbers(ranks.begin(), ranks.end());
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", to_cpu_list(numbers));
}

std::string in_words(Clock::duration duration) {
  const auto seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return seconds < 1e5 ? fmt::format("{:.4g} s", seconds) : fmt::format("{:.0f} s", seconds);
}

Trouble late_trouble(const Stage& overdue, const std::vector<RankStage>& ranks) {
  const auto culprits = find_culprits(ranks);
  Trouble trouble{.kind = Trouble::Kind::late, .phase = overdue.phase};
  std::vector<std::string> sentences;
  for (const auto& rank : ranks) {
    const bool guilty = std::ranges::find(culprits, &rank) != culprits.end();
    (guilty ? trouble.ranks : trouble.arrived).push_back(rank.rank);
    if (guilty && sentences.size() < kMaxNamed) sentences.push_back(state_of(rank, overdue));
  }
  if (trouble.ranks.size() > sentences.size()) {
    sentences.push_back(fmt::format("and {} more", trouble.ranks.size() - sentences.size()));
  }
  if (sentences.empty()) {
    sentences.push_back(common_state(*ranks.front().stage, ranks.size() == 1));
  }
  trouble.what = fmt::format(
      "{} \"{}\" takes longer than {}: {}",
      overdue.unit.empty() ? "the phase" : fmt::format("an {} of the phase", overdue.unit),
      overdue.phase.name, in_words(overdue.limit), fmt::join(sentences, ", "));
  return trouble;
}

}  // namespace muster::bench
