// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nvml/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"

namespace muster::fakes {
namespace {

// The names by which a line may refer to a call, the most specific first.
std::vector<std::string> names_of(std::string_view call, std::optional<unsigned> gpu) {
  if (!gpu) return {std::string(call)};
  return {fmt::format("{} gpu{}", call, *gpu), fmt::format("* gpu{}", *gpu), std::string(call)};
}

Result<void> take_line(std::string_view line, Scenario& scenario) {
  const auto words = split_words(line);
  if (words.empty()) return {};
  if (words[0] == "hang" && words.size() >= 2) {
    scenario.hangs.insert(fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " ")));
    return {};
  }
  if (words[0] == "answer" && words.size() >= 3) {
    TRY_ASSIGN(const auto code, parse_unsigned(words.back()));
    const auto call = fmt::format("{}", fmt::join(words.begin() + 1, words.end() - 1, " "));
    scenario.answers[call] = static_cast<int>(code);
    return {};
  }
  return make_error(fmt::format("scenario: no line reads \"{}\"", printable(line)));
}

}  // namespace

std::optional<int> Scenario::answer(std::string_view call, std::optional<unsigned> gpu) const {
  for (const auto& name : names_of(call, gpu)) {
    const auto found = answers.find(name);
    if (found != answers.end()) return found->second;
  }
  return std::nullopt;
}

bool Scenario::hangs_in(std::string_view call, std::optional<unsigned> gpu) const {
  const auto names = names_of(call, gpu);
  return std::ranges::any_of(names, [&](const auto& name) { return hangs.contains(name); });
}

std::string to_text(const Scenario& scenario) {
  std::string text = section_to_json(observed(scenario.nvml));
  for (const auto& [call, code] : scenario.answers) {
    text += fmt::format("\nanswer {} {}", call, code);
  }
  for (const auto& call : scenario.hangs) text += fmt::format("\nhang {}", call);
  text.push_back('\n');
  return text;
}

Result<Scenario> parse_scenario(std::string_view text) {
  const auto lines = split_lines(text);
  if (lines.empty()) return make_error("scenario: empty");
  TRY_ASSIGN(auto section, parse_section<Nvml>(lines.front()));
  Scenario scenario{.nvml = std::move(section.facts), .answers = {}, .hangs = {}};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    TRY(take_line(lines[i], scenario));
  }
  return scenario;
}

}  // namespace muster::fakes
