// SPDX-License-Identifier: Apache-2.0
// The outcomes and remedies of findings, with their words in reports and profiles.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace muster {

// The outcomes that a profile may set come first.
enum class Outcome { fail, warn, pass, unknown, skip };

enum class Remedy {
  none,
  watch,
  restart_app,
  reset_gpu,
  restart_service,
  reboot,
  reseat_or_replace,
  fix_config,
  report_to_provider,
};

[[nodiscard]] std::string_view to_string(Outcome outcome);
[[nodiscard]] std::string_view to_string(Remedy remedy);
// The reverse of to_string(); empty for an unknown word.
[[nodiscard]] std::optional<Outcome> parse_outcome(std::string_view word);
[[nodiscard]] std::optional<Remedy> parse_remedy(std::string_view word);
// For people: "reset the GPU", "fix the configuration"; empty for none.
[[nodiscard]] std::string_view describe(Remedy remedy);
// The words that a profile may use: fail, warn or pass; any remedy.
[[nodiscard]] std::span<const std::string_view> words_of(Outcome of);
[[nodiscard]] std::span<const std::string_view> words_of(Remedy of);
// All words, in the order of the enumerators.
[[nodiscard]] std::span<const std::string_view> json_words(Outcome of);
[[nodiscard]] std::span<const std::string_view> json_words(Remedy of);

}  // namespace muster
