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

std::string to_bytes(const Trouble& trouble) {
  return Writer()
      .number(static_cast<std::uint64_t>(trouble.kind), 1)
      .text(trouble.phase)
      .text(trouble.what)
      .ranks(trouble.ranks)
      .ranks(trouble.arrived)
      .take();
}

std::optional<Trouble> read_trouble(std::string_view bytes) {
  Reader reader(bytes);
  const auto kind = reader.number(1);
  if (kind > static_cast<std::uint64_t>(Trouble::Kind::stopped)) return std::nullopt;
  Trouble trouble{.kind = static_cast<Trouble::Kind>(kind)};
  trouble.phase = reader.text();
  trouble.what = reader.text();
  trouble.ranks = reader.ranks();
  trouble.arrived = reader.ranks();
  return reader.complete() ? std::optional(trouble) : std::nullopt;
}

std::string to_bytes(const Stage& stage) {
  const auto limit = std::chrono::duration_cast<std::chrono::nanoseconds>(stage.limit).count();
  return Writer()
      .number(stage.number)
      .number(stage.waits ? 1 : 0, 1)
      .number(stage.counted ? 1 : 0, 1)
      .number(static_cast<std::uint64_t>(limit))
      .text(stage.phase)
      .take();
}

std::optional<Stage> read_stage(std::string_view bytes) {
  Reader reader(bytes);
  Stage stage{.number = reader.number()};
  stage.waits = reader.number(1) != 0;
  stage.counted = reader.number(1) != 0;
  stage.limit = std::chrono::nanoseconds(static_cast<std::int64_t>(reader.number()));
  stage.phase = printable(reader.text());
  return reader.complete() ? std::optional(stage) : std::nullopt;
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
