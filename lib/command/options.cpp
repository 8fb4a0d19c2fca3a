// SPDX-License-Identifier: Apache-2.0
#include "lib/command/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kHelpColumn = 28;

// "-v, --verbose", "--profile NAME|FILE", "--snapshot FILE|DIR...".
std::string form_of(const OptionText& option) {
  auto form = fmt::format("{}", fmt::join(split(option.name, ','), ", "));
  if (!option.argument.empty()) form += fmt::format(" {}", option.argument);
  if (option.arity == Arity::many) form += "...";
  return form;
}

std::string line_of(const OptionText& option) {
  const auto form = form_of(option);
  const auto help = wrapped(option.help, kHelpColumn);
  const bool fits = form.size() + 4 <= kHelpColumn;
  if (fits) return fmt::format("  {:{}}{}\n", form, kHelpColumn - 2, help);
  return fmt::format("  {}\n{:{}}{}\n", form, "", kHelpColumn, help);
}

// Passes on the values of one option. CLI11's value of a flag is "true", or the text after its "=".
Result<void> take_values(const OptionTaker& taker, const Words& values) {
  if (taker.text.arity == Arity::flag) {
    for (const auto& value : values) {
      if (value == "true") continue;
      return make_error("takes no value, got \"{}\"", printable(value, 80));
    }
    return taker.take("");
  }
  if (taker.text.arity == Arity::one) return taker.take(values.back());
  for (const auto& value : values) TRY(taker.take(value));
  return {};
}

// "unknown option --profil; did you mean --profile?"
tl::unexpected<Error> unexpected(std::string_view word, const CommandText& command) {
  if (!word.starts_with('-')) {
    return make_error("unexpected argument \"{}\"", printable(word, 80));
  }
  const auto name = word.substr(0, word.find('='));
  const bool is_letter = name.size() == 2;
  Words names;
  for (const auto& option : command.options) {
    for (const auto each : split(option.name, ',')) {
      // Letters do not resemble each other, except in the other case.
      const bool may_be_meant = is_letter ? lower_case(each) == lower_case(name) : each.size() > 2;
      if (may_be_meant) names.emplace_back(each);
    }
  }
  return make_error("unknown option {}{}", printable(name, 80), suggestion(name, names));
}

}  // namespace

std::string command_help(const CommandText& command) {
  const auto begin =
      fmt::format("Usage: {}{}{} ", command.program, command.name.empty() ? "" : " ", command.name);
  auto text = fmt::format("{}{}\n\n{}.\n\n", begin, wrapped(command.synopsis, begin.size()),
                          wrapped(command.about, 0));
  for (const auto& option : command.options) text += line_of(option);
  if (!command.examples.empty()) text += fmt::format("\nExamples:\n{}", command.examples);
  return text;
}

std::string suggestion(std::string_view word, const Words& candidates) {
  const auto near = nearest(word, candidates);
  return near.empty() ? std::string() : fmt::format("; did you mean {}?", near);
}

Result<void> take_text(std::string& target, std::string_view value) {
  if (value.empty()) return make_error("expects a value, got an empty one");
  target = value;
  return {};
}

Result<std::size_t> take_choice(std::string_view choices, std::string_view value) {
  Words words;
  for (const auto word : split(choices, '|')) words.emplace_back(word);
  const auto found = std::ranges::find(words, value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  return make_error("expects {}, got \"{}\"{}", choices, printable(value, 80),
                    suggestion(value, words));
}

Result<Seconds> take_duration(std::string_view value) {
  constexpr double kLongest = 24.0 * 3600;
  const auto duration = parse_quantity<SecondsKind>(value);
  if (!duration) return duration;
  if (duration->value <= 0 || duration->value > kLongest) {
    return make_error("expects a time above zero and up to 24 h, got \"{}\"", printable(value, 80));
  }
  return duration;
}

Result<int> take_number(std::string_view value, int least, int most) {
  const auto number = parse_unsigned(value);
  if (number && std::cmp_greater_equal(*number, least) && std::cmp_less_equal(*number, most)) {
    return static_cast<int>(*number);
  }
  return make_error("expects a whole number from {} to {}, got \"{}\"", least, most,
                    printable(value, 80));
}

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
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view what = error.what();  // "--local: 1 required TEXT missing"
    return make_error("{}: expects a value", printable(what.substr(0, what.find(':'))));
  } catch (const CLI::Error& error) {
    return make_error(printable(error.what()));
  }
  if (const auto left = app.remaining(); !left.empty()) {
    return unexpected(left.front(), text);
  }
  if (!first_error.empty()) return make_error(first_error);
  return line;
}

}  // namespace muster
