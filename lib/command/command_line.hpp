// SPDX-License-Identifier: Apache-2.0
// Parses the line of a command into its plain struct. CLI11 finds the options and hands their
// values over; the table of options says what a value means.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/command/options.hpp"

namespace muster {

template <class Command>
class CommandLine {
 public:
  // `app` and `options` must outlive this.
  CommandLine(CLI::App& app, CommandText text, std::span<const Option<Command>> options)
      : text_(std::move(text)), app_(app) {
    app_.set_help_flag();
    app_.allow_extras();
    app_.add_flag("-h,--help", help_);
    take_options(options);
  }

  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] bool chosen() const { return app_.parsed(); }

  [[nodiscard]] bool help() const { return help_; }

  [[nodiscard]] const CommandText& text() const { return text_; }

  // Takes options of the command, or of what it is derived from.
  template <class Part>
  void take_options(std::span<const Option<Part>> options) {
    for (const auto& option : options) add(option);
  }

  // Words that no option took, for the command's own use.
  void take_words(std::vector<std::string>& words) {
    app_.add_option("words", words)->expected(-1);
  }

  // What was asked for, once CLI11 has parsed the line. Where help() is true it means nothing.
  [[nodiscard]] Result<Command> result() const {
    if (auto left = refuse_leftovers(); !left) return tl::unexpected(left.error());
    if (!complaint_.empty()) return make_error(complaint_);
    return command_;
  }

 private:
  using Words = std::vector<std::string>;

  template <class Part>
  void add(const Option<Part>& option) {
    const std::string name(option.name);
    const auto* entry = &option;
    if (option.arity == Arity::flag) {
      app_.add_flag_function(name, [this, entry](std::int64_t /*count*/) { apply(*entry, ""); });
      return;
    }
    auto* added = app_.add_option_function<Words>(name, [this, entry](const Words& values) {
      // The last one counts where only one can.
      const auto first = entry->arity == Arity::one ? values.size() - 1 : 0;
      for (auto i = first; i < values.size(); ++i) apply(*entry, values[i]);
    });
    added->allow_extra_args(option.arity == Arity::many);
  }

  template <class Part>
  void apply(const Option<Part>& option, std::string_view value) {
    const auto done = option.set(command_, option.argument, value);
    if (done || !complaint_.empty()) return;
    complaint_ = fmt::format("{}: {}", split(option.name, ',').back(), done.error().message);
  }

  [[nodiscard]] Result<void> refuse_leftovers() const {
    const auto left = app_.remaining();
    if (left.empty()) return {};
    const std::string_view word = left.front();
    if (!word.starts_with('-')) {
      return make_error(fmt::format("unexpected argument \"{}\"", printable(word, 80)));
    }
    return tl::unexpected(unknown_option(word, text_));
  }

  CommandText text_;
  CLI::App& app_;
  Command command_;
  std::string complaint_;
  bool help_ = false;
};

}  // namespace muster
