// SPDX-License-Identifier: Apache-2.0
#include "bench/group/trouble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "bench/group/bytes.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr auto kTroubleFields = [](auto& bytes, auto& trouble) {
  bytes.number(trouble.kind, 1)
      .text(trouble.phase.name)
      .number(trouble.phase.part, 1)
      .text(trouble.what)
      .ranks(trouble.ranks)
      .ranks(trouble.arrived)
      .number(trouble.broken, 1);
};

constexpr auto kStageFields = [](auto& bytes, auto& stage) {
  bytes.number(stage.number)
      .number(stage.waits, 1)
      .number(stage.counted, 1)
      .number(stage.started)
      .number(stage.finished)
      .text(stage.unit)
      .duration(stage.limit)
      .text(stage.phase.name)
      .number(stage.phase.part, 1);
};

constexpr std::size_t kMostNamed = 8;

std::string name_of(const Answer& answer) {
  return answer.name.empty() ? fmt::format("rank {}", answer.rank)
                             : fmt::format("rank {} ({})", answer.rank, answer.name);
}

// Counted from 1 in messages.
std::string progress_text(const Stage& stage) {
  const auto unit =
      stage.unit.empty() ? std::string("it") : fmt::format("{} {}", stage.unit, stage.finished + 1);
  return stage.started > stage.finished ? fmt::format("has started {} and not finished it", unit)
                                        : fmt::format("has not started {}", unit);
}

std::string state_of(const Answer& answer, const Stage& overdue) {
  if (!answer.stage) return fmt::format("{} does not answer", name_of(answer));
  if (answer.stage->number == overdue.number) {
    return answer.stage->counted
               ? fmt::format("{} {}", name_of(answer), progress_text(*answer.stage))
               : fmt::format("{} keeps the others waiting in it", name_of(answer));
  }
  return fmt::format("{} is still in the phase \"{}\"", name_of(answer), answer.stage->phase.name);
}

// How far somebody is: the phase, and in it who waits is further than who works.
auto progress(const Stage& stage) { return std::pair(stage.number, stage.waits); }

auto operations(const Stage& stage) { return std::pair(stage.started, stage.finished); }

// Those of the ranks at work on operations of one phase that have come the least far; all of them
// stay where they have come equally far.
void keep_the_slowest(const std::vector<Answer>& answers, std::vector<bool>& chosen) {
  std::optional<std::pair<std::uint64_t, std::uint64_t>> least;
  for (std::size_t at = 0; at < answers.size(); ++at) {
    const auto& stage = answers[at].stage;
    if (!chosen[at] || !stage) continue;
    if (!stage->counted || stage->waits) return;
    least = least ? std::min(*least, operations(*stage)) : operations(*stage);
  }
  for (std::size_t at = 0; at < answers.size(); ++at) {
    const auto& stage = answers[at].stage;
    if (stage && operations(*stage) != least) chosen[at] = false;
  }
}

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
  if (!somebody) {
    for (std::size_t at = 0; at < answers.size(); ++at) {
      culprits[at] = progress(*answers[at].stage) == least;
    }
  }
  const bool together = least.first == furthest.first;  // in one phase
  if (together) keep_the_slowest(answers, culprits);
  const bool all = std::ranges::find(culprits, false) == culprits.end();
  if (all && !somebody) culprits.assign(culprits.size(), false);
  return culprits;
}

}  // namespace

Trouble trouble_of(const GivingUp& reason, const Phase& phase) {
  return {.kind = reason.stopped ? Trouble::Kind::stopped : Trouble::Kind::given_up,
          .phase = phase,
          .what = reason.why,
          .broken = reason.broken};
}

std::string to_bytes(const Trouble& trouble) { return encoded(kTroubleFields, trouble); }

std::optional<Trouble> read_trouble(std::string_view bytes) {
  Trouble trouble;
  const bool complete = decode(kTroubleFields, bytes, trouble);
  const bool known = trouble.kind <= Trouble::Kind::stopped && trouble.phase.part <= Part::running;
  return complete && known ? std::optional(trouble) : std::nullopt;
}

std::string to_bytes(const Stage& stage) { return encoded(kStageFields, stage); }

std::optional<Stage> read_stage(std::string_view bytes) {
  Stage stage;
  if (!decode(kStageFields, bytes, stage) || stage.phase.part > Part::running) return std::nullopt;
  stage.phase.name = printable(stage.phase.name);
  stage.unit = printable(stage.unit);
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
    const auto& stage = *answers.front().stage;
    const bool alone = answers.size() == 1;
    sentences.push_back(
        !stage.unit.empty() && !stage.waits
            ? fmt::format("{} {}", alone ? "this process" : "each rank", progress_text(stage))
            : fmt::format("{} still in it", alone ? "this process is" : "all ranks are"));
  }
  trouble.what = fmt::format(
      "{} \"{}\" takes longer than {}: {}",
      overdue.unit.empty() ? "the phase" : fmt::format("an {} of the phase", overdue.unit),
      overdue.phase.name, in_words(overdue.limit), fmt::join(sentences, ", "));
  return trouble;
}

}  // namespace muster::bench
