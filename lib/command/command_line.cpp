// SPDX-License-Identifier: Apache-2.0
#include "lib/command/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

using Words = std::vector<std::string>;

// Passes the values of one option on. For a flag CLI11 gives "true", or the text behind its "=".
Result<void> take_values(const OptionTaker& taker, const Words& values) {
  if (taker.text.arity == Arity::flag) {
    for (const auto& value : values) {
      if (value == "true") continue;
      return make_error(fmt::format("takes no value, got \"{}\"", printable(value, 80)));
    }
    return taker.take("");
  }
  if (taker.text.arity == Arity::one) return taker.take(values.back());
  for (const auto& value : values) TRY(taker.take(value));
  return {};
}

Error unexpected(std::string_view word, const CommandText& text) {
  if (word.starts_with('-')) return unknown_option(word, text);
  return {.message = fmt::format("unexpected argument \"{}\"", printable(word, 80))};
}

}  // namespace

Result<CommandLine> take_line(Words arguments, const CommandText& text,
                              const std::vector<OptionTaker>& takers) {
  CommandLine line;
  std::string first_error;
  CLI::App app;
  app.set_help_flag("-h,--help");
  app.allow_extras();
  const auto add = [&](std::string_view name, Arity arity, const CLI::callback_t& take) {
    auto* option = app.add_option(std::string(name), take)->type_name("TEXT");
    if (arity == Arity::flag) {
      option->expected(0)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    } else {
      option->expected(1, -1)->allow_extra_args(arity == Arity::many);
    }
  };
  for (const auto& taker : takers) {
    add(taker.text.name, taker.text.arity, [&](const Words& values) {
      const auto taken = take_values(taker, values);
      if (!taken && first_error.empty()) {
        const auto name = split(taker.text.name, ',').back();
        first_error = fmt::format("{}: {}", name, taken.error().message);
      }
      return true;
    });
  }
  if (!text.synopsis.starts_with("[OPTION]")) {
    add("words", Arity::many, [&](const Words& words) {
      line.words = words;
      return true;
    });
  }

  std::ranges::reverse(arguments);  // as CLI11 expects them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    line.help = true;
    return line;
  } catch (const CLI::Error& error) {
    return make_error(printable(error.what()));
  }
  if (const auto left = app.remaining(); !left.empty()) {
    return tl::unexpected(unexpected(left.front(), text));
  }
  if (!first_error.empty()) return make_error(first_error);
  return line;
}

}  // namespace muster
