// SPDX-License-Identifier: Apache-2.0
// What a finding concludes and what to do about it, with their words in reports and in profiles.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace muster {

// The outcomes that a profile may give to a finding come first.
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
// The reverse, for reports that are read back; empty for a word of another version.
[[nodiscard]] std::optional<Outcome> parse_outcome(std::string_view word);
[[nodiscard]] std::optional<Remedy> parse_remedy(std::string_view word);
// In words for people: "reset the GPU", "fix the configuration"; empty for none.
[[nodiscard]] std::string_view describe(Remedy remedy);
// What a profile may say: fail, warn or pass; any remedy.
[[nodiscard]] std::span<const std::string_view> json_words(Outcome type);
[[nodiscard]] std::span<const std::string_view> json_words(Remedy type);
[[nodiscard]] std::span<const std::string_view> words_of(Outcome of);
[[nodiscard]] std::span<const std::string_view> words_of(Remedy of);

}  // namespace muster
