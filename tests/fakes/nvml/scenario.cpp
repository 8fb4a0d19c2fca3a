// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nvml/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/gpu/library.hpp"

namespace muster::fakes {
namespace {

// The names by which a line may refer to a call, the most specific first.
std::vector<std::string> names_of(std::string_view call, std::optional<unsigned> gpu) {
  if (!gpu) return {std::string(call)};
  return {fmt::format("{} gpu{}", call, *gpu), fmt::format("* gpu{}", *gpu), std::string(call)};
}

// Whether muster calls a function, under any of its names, by that name; * is every function that
// takes a GPU.
bool is_call(std::string_view name) {
  if (name == "*") return true;
  const nvml::Functions functions;
  bool found = false;
#define MUSTER_FAKE_CALL(member, ...) \
  found = found || std::ranges::count(split_words(functions.member.names), name) > 0;
  MUSTER_NVML_FUNCTIONS(MUSTER_FAKE_CALL)
#undef MUSTER_FAKE_CALL
  return found;
}

// "CALL" or "CALL gpuN". A misspelt call is never made, and its test would pass.
Result<std::string> parse_call(std::span<const std::string_view> words, std::size_t gpus) {
  if (!is_call(words[0])) return make_error("unknown call \"{}\"", words[0]);
  if (words.size() == 1) return std::string(words[0]);
  const auto gpu = words[1].starts_with("gpu") ? parse_unsigned(words[1].substr(3)).value_or(gpus)
                                               : std::uint64_t{gpus};
  if (words.size() == 2 && gpu < gpus) return fmt::format("{} {}", words[0], words[1]);
  return make_error("unknown GPU \"{}\"", fmt::join(words.subspan(1), " "));
}

Result<void> take_line(std::string_view line, Scenario& scenario) {
  const auto all = split_words(line);
  const std::span words(all);
  const auto gpus = scenario.nvml.gpus.size();
  if (words.empty()) return {};
  if (words[0] == "hang" && words.size() >= 2) {
    TRY_ASSIGN(auto call, parse_call(words.subspan(1), gpus));
    scenario.hangs.insert(std::move(call));
    return {};
  }
  if (words[0] == "answer" && words.size() >= 3) {
    TRY_ASSIGN(const auto code, parse_unsigned(words.back()));
    TRY_ASSIGN(const auto call, parse_call(words.subspan(1, words.size() - 2), gpus));
    scenario.answers[call] = static_cast<int>(code);
    return {};
  }
  return make_error("unknown line \"{}\"", printable(line));
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
