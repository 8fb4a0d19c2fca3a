// SPDX-License-Identifier: Apache-2.0
// The common parts of the command lines of muster-bench's subcommands.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/command/options.hpp"

namespace muster::bench {

inline constexpr std::string_view kExitStatuses =
    "Exit status: 0 healthy (warnings included), 1 unhealthy, 2 could not decide,\n"
    "64 bad usage, 78 bad configuration.\n";

// Returns the kCount values of an enumeration, in order.
template <class Word, std::size_t kCount>
[[nodiscard]] std::vector<Word> all_of() {
  std::vector<Word> all;
  for (std::size_t i = 0; i < kCount; ++i) all.push_back(static_cast<Word>(i));
  return all;
}

// Whether a usage is wrong, and the message for it.
using Refusal = std::pair<bool, std::string_view>;

// Returns the message of the first wrong usage as an error.
[[nodiscard]] Result<void> refuse_any(std::initializer_list<Refusal> refusals);

// Appends the KEY=VALUE of a --set. Another value is an error with `example`, which may be empty.
[[nodiscard]] Result<void> add_setting(std::vector<std::string>& target, std::string_view value,
                                       std::string_view example);

// Parses bytes, with binary units or none: "8", "64KiB", "8 GiB", "8G".
[[nodiscard]] Result<std::uint64_t> size_from(std::string_view given);
[[nodiscard]] Result<void> take_size(std::optional<std::uint64_t>& target, std::string_view value);

// Appends the words of a --sim, which may be repeated.
[[nodiscard]] Result<void> take_sim(std::string& target, std::string_view value);

// A rate above zero.
[[nodiscard]] Result<void> take_rate(std::optional<BytesPerSecond>& target, std::string_view value);

// Returns the text of a subcommand. If its command is a BenchCommand, the shared options come
// first.
template <class Command>
[[nodiscard]] CommandText subcommand_text(std::string_view name, std::string_view about,
                                          std::span<const Option<Command>> options,
                                          std::string_view examples) {
  std::vector<OptionText> texts;
  if constexpr (std::is_base_of_v<BenchCommand, Command>) {
    texts = texts_of(job_options());
    texts.pop_back();  // --help comes last
  }
  std::ranges::copy(texts_of(options), std::back_inserter(texts));
  return {.program = "muster-bench",
          .name = name,
          .synopsis = "[OPTION]...",
          .about = about,
          .options = std::move(texts),
          .examples = examples};
}

// Parses the arguments after a subcommand's name. `check` refuses options that do not fit together;
// `more` is printed in the help before the exit statuses.
template <class Command>
[[nodiscard]] Parsed<Command> parse_subcommand(
    std::span<const char* const> arguments, const CommandText& text,
    std::span<const Option<Command>> options,
    const std::function<Result<void>(const Command&)>& check, std::string_view more = "") {
  Command command;
  auto takers = takers_for<Command>(command, options);
  if constexpr (std::is_base_of_v<BenchCommand, Command>) {
    std::ranges::move(takers_for<BenchCommand>(command, job_options()), std::back_inserter(takers));
  }
  const auto with_hint = [&](const Error& error) {
    return make_error("{} (see {} {} --help)", error.message, text.program, text.name);
  };
  const auto line = take_line({arguments.begin(), arguments.end()}, text, takers);
  if (!line) return with_hint(line.error());
  if (line->help) return fmt::format("{}\n{}{}", command_help(text), more, kExitStatuses);
  if (const auto fits = check(command); !fits) return with_hint(fits.error());
  return command;
}

}  // namespace muster::bench
