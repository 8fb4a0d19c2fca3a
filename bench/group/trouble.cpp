// SPDX-License-Identifier: Apache-2.0
#include "bench/group/trouble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "bench/group/bytes.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr auto kTroubleFields = [](auto& bytes, auto& trouble) {
  bytes.number(trouble.kind, 1)
      .text(trouble.phase)
      .text(trouble.what)
      .ranks(trouble.ranks)
      .ranks(trouble.arrived);
};

constexpr auto kStageFields = [](auto& bytes, auto& stage) {
  bytes.number(stage.number)
      .number(stage.waits, 1)
      .number(stage.counted, 1)
      .duration(stage.limit)
      .text(stage.phase);
};

constexpr std::size_t kMostNamed = 8;

std::string name_of(const Answer& answer) {
  return answer.name.empty() ? fmt::format("rank {}", answer.rank)
                             : fmt::format("rank {} ({})", answer.rank, answer.name);
}

std::string state_of(const Answer& answer, const Stage& overdue) {
  if (!answer.stage) return fmt::format("{} does not answer", name_of(answer));
  if (answer.stage->number == overdue.number) {
    return fmt::format("{} keeps the others waiting in it", name_of(answer));
  }
  return fmt::format("{} is still in the phase \"{}\"", name_of(answer), answer.stage->phase);
}

// How far somebody is: the phase, and in it who waits is further than who works.
auto progress(const Stage& stage) { return std::pair(stage.number, stage.waits); }

std::vector<bool> find_culprits(const std::vector<Answer>& answers) {
  using Progress = std::pair<std::uint64_t, bool>;
  Progress furthest{0, false};
  Progress least{std::numeric_limits<std::uint64_t>::max(), true};
  bool somebody = false;
  for (const auto& answer : answers) {
    if (!answer.stage) continue;
    furthest = std::max(furthest, progress(*answer.stage));
    least = std::min(least, progress(*answer.stage));
  }
  std::vector<bool> culprits;
  for (const auto& answer : answers) {
    const bool at_work = answer.stage && progress(*answer.stage) < furthest && !answer.stage->waits;
    culprits.push_back(!answer.stage || at_work);
    somebody = somebody || culprits.back();
  }
  if (somebody || least == furthest) return culprits;
  for (std::size_t at = 0; at < answers.size(); ++at) {
    culprits[at] = progress(*answers[at].stage) == least;
  }
  return culprits;
}

}  // namespace

std::string to_bytes(const Trouble& trouble) { return encoded(kTroubleFields, trouble); }

std::optional<Trouble> read_trouble(std::string_view bytes) {
  Trouble trouble;
  const bool complete = decode(kTroubleFields, bytes, trouble);
  return complete && trouble.kind <= Trouble::Kind::stopped ? std::optional(trouble) : std::nullopt;
}

std::string to_bytes(const Stage& stage) { return encoded(kStageFields, stage); }

std::optional<Stage> read_stage(std::string_view bytes) {
  Stage stage;
  if (!decode(kStageFields, bytes, stage)) return std::nullopt;
  stage.phase = printable(stage.phase);
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

Trouble late_trouble(const Stage& overdue, const std::vector<Answer>& answers) {
  const auto culprits = find_culprits(answers);
  Trouble trouble{.kind = Trouble::Kind::late, .phase = overdue.phase};
  std::vector<std::string> sentences;
  for (std::size_t at = 0; at < answers.size(); ++at) {
    (culprits[at] ? trouble.ranks : trouble.arrived).push_back(answers[at].rank);
    if (culprits[at] && sentences.size() < kMostNamed) {
      sentences.push_back(state_of(answers[at], overdue));
    }
  }
  if (trouble.ranks.size() > sentences.size()) {
    sentences.push_back(fmt::format("and {} more", trouble.ranks.size() - sentences.size()));
  }
  if (sentences.empty()) {
    sentences.emplace_back(answers.size() == 1 ? "this process is still in it"
                                               : "all ranks are still in it");
  }
  trouble.what = fmt::format("{} \"{}\" takes longer than {}: {}",
                             overdue.counted ? "an iteration of the phase" : "the phase",
                             overdue.phase,
                             in_words(overdue.limit),
                             fmt::join(sentences, ", "));
  return trouble;
}

}  // namespace muster::bench
