// SPDX-License-Identifier: Apache-2.0
#include "lib/command/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

using Words = std::vector<std::string>;

// CLI11 finds the options and their values; what these mean is said by the takers.
class LineParser {
 public:
  LineParser(const std::vector<OptionTaker>& takers, bool takes_words) {
    app_.set_help_flag();
    app_.allow_extras();
    add("-h,--help", Arity::flag, [this](const Words& /*none*/) { line_.help = true; });
    for (const auto& taker : takers) {
      add(taker.text.name, taker.text.arity,
          [this, &taker](const Words& values) { give(taker, values); });
    }
    if (takes_words) {
      add("words", Arity::many, [this](const Words& words) { line_.words = words; });
    }
  }

  LineParser(const LineParser&) = delete;
  LineParser& operator=(const LineParser&) = delete;

  Result<CommandLine> parse(Words arguments, const CommandText& text) {
    std::ranges::reverse(arguments);  // as CLI11 wants them
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::Error& error) {
      return make_error(printable(error.what()));
    }
    if (line_.help) return std::move(line_);
    if (auto left = refuse_leftovers(text); !left) return tl::unexpected(left.error());
    if (!complaint_.empty()) return make_error(complaint_);
    return std::move(line_);
  }

 private:
  void add(std::string_view name, Arity arity, std::function<void(const Words& values)> use) {
    const auto callback = [use = std::move(use)](const Words& values) {
      use(values);
      return true;
    };
    auto* option = app_.add_option(std::string(name), CLI::callback_t(callback));
    option->type_name("TEXT");
    if (arity == Arity::flag) {
      option->expected(0)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    } else {
      option->expected(1, -1)->allow_extra_args(arity == Arity::many);
    }
  }

  // What CLI11 found: where a flag was given, "true", or what was written behind its "=".
  void give(const OptionTaker& taker, const Words& found) {
    switch (taker.text.arity) {
      case Arity::flag:
        for (const auto& value : found) {
          if (value != "true")
            complain(taker, fmt::format("takes no value, got \"{}\"", printable(value, 80)));
        }
        return give_one(taker, "");
      case Arity::one:
        return give_one(taker, found.back());
      case Arity::each:
      case Arity::many:
        for (const auto& value : found) give_one(taker, value);
    }
  }

  void give_one(const OptionTaker& taker, std::string_view value) {
    if (const auto taken = taker.take(value); !taken) complain(taker, taken.error().message);
  }

  // The first complaint is kept.
  void complain(const OptionTaker& taker, std::string_view why) {
    if (!complaint_.empty()) return;
    complaint_ = fmt::format("{}: {}", split(taker.text.name, ',').back(), why);
  }

  [[nodiscard]] Result<void> refuse_leftovers(const CommandText& text) const {
    const auto left = app_.remaining();
    if (left.empty()) return {};
    const std::string_view word = left.front();
    if (!word.starts_with('-')) {
      return make_error(fmt::format("unexpected argument \"{}\"", printable(word, 80)));
    }
    return tl::unexpected(unknown_option(word, text));
  }

  CLI::App app_;
  CommandLine line_;
  std::string complaint_;
};

}  // namespace

Result<CommandLine> take_line(Words arguments, const CommandText& text,
                              const std::vector<OptionTaker>& takers) {
  LineParser parser(takers, !text.synopsis.starts_with("[OPTION]"));
  return parser.parse(std::move(arguments), text);
}

}  // namespace muster
