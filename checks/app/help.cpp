// SPDX-License-Identifier: Apache-2.0
// --help, made from the tables of options.
#include <fmt/format.h>

#include "checks/app/option_table.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

constexpr std::size_t kWidth = 90;
constexpr std::size_t kHelpColumn = 28;

// "-v, --verbose", "--profile NAME|FILE", "--snapshot FILE|DIR...".
std::string form_of(const OptionText& option) {
  std::string form;
  for (const auto name : split(option.name, ',')) {
    form += fmt::format("{}{}", form.empty() ? "" : ", ", name);
  }
  if (!option.argument.empty()) form += fmt::format(" {}", option.argument);
  if (option.arity == Arity::many) form += "...";
  return form;
}

std::string wrapped(std::string_view text, std::size_t column) {
  std::string lines;
  std::size_t used = 0;
  for (const auto word : split_words(text)) {
    if (used > 0 && column + used + 1 + word.size() > kWidth) {
      lines += fmt::format("\n{:{}}", "", column);
      used = 0;
    } else if (used > 0) {
      lines.push_back(' ');
      ++used;
    }
    lines += word;
    used += word.size();
  }
  return lines;
}

std::string line_of(const OptionText& option) {
  const auto form = form_of(option);
  const auto help = wrapped(option.help, kHelpColumn);
  const bool fits = form.size() + 4 <= kHelpColumn;
  if (fits) return fmt::format("  {:{}}{}\n", form, kHelpColumn - 2, help);
  return fmt::format("  {}\n{:{}}{}\n", form, "", kHelpColumn, help);
}

}  // namespace

std::string command_help(const CommandText& command) {
  auto text =
      fmt::format("Usage: muster {} {}\n\n{}.\n\n", command.name, command.synopsis, command.about);
  for (const auto& option : command.options) text += line_of(option);
  return text;
}

std::string overview_help() {
  std::string text =
      "Usage: muster COMMAND [OPTION]...\n\n"
      "Inspects a node of a GPU cluster, says what is wrong and what to do.\n\n";
  for (const auto& command : command_texts()) {
    text += fmt::format("  {:10}{}\n", command.name, wrapped(command.about, 12));
  }
  text +=
      "\n  -h, --help, --version\n\n"
      "muster COMMAND --help says more about one command.\n\n"
      "Exit status: 0 healthy (warnings included), 1 unhealthy, 2 could not decide,\n"
      "64 bad usage, 78 bad configuration.\n";
  return text;
}

}  // namespace muster::app
