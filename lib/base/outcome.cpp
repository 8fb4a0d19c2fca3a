// SPDX-License-Identifier: Apache-2.0
#include "lib/base/outcome.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace muster {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 5> kOutcomeWords{"fail", "warn", "pass", "unknown", "skip"};
constexpr std::array<std::string_view, 9> kRemedyWords{"none",
                                                       "watch",
                                                       "restart_app",
                                                       "reset_gpu",
                                                       "restart_service",
                                                       "reboot",
                                                       "reseat_or_replace",
                                                       "fix_config",
                                                       "report_to_provider"};
constexpr std::array<std::string_view, kRemedyWords.size()> kRemedyDescriptions{
    "",
    "watch it",
    "end or restart the application",
    "reset the GPU",
    "restart the service",
    "reboot the node",
    "reseat or replace the part",
    "fix the configuration",
    "report to the provider"};

template <class Enum>
std::optional<Enum> enumerator(std::span<const std::string_view> words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  return kOutcomeWords.at(static_cast<std::size_t>(outcome));
}

std::string_view to_string(Remedy remedy) {
  return kRemedyWords.at(static_cast<std::size_t>(remedy));
}

std::optional<Outcome> parse_outcome(std::string_view word) {
  return enumerator<Outcome>(kOutcomeWords, word);
}

std::optional<Remedy> parse_remedy(std::string_view word) {
  return enumerator<Remedy>(kRemedyWords, word);
}

std::string_view describe(Remedy remedy) {
  return kRemedyDescriptions.at(static_cast<std::size_t>(remedy));
}

std::span<const std::string_view> json_words(Outcome /*type*/) { return kOutcomeWords; }

std::span<const std::string_view> json_words(Remedy /*type*/) { return kRemedyWords; }

std::span<const std::string_view> words_of(Outcome /*of*/) {
  constexpr auto kInProfiles = static_cast<std::size_t>(Outcome::pass) + 1;
  return std::span(kOutcomeWords).first(kInProfiles);
}

std::span<const std::string_view> words_of(Remedy /*of*/) { return kRemedyWords; }

}  // namespace muster
