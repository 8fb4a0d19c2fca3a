// SPDX-License-Identifier: Apache-2.0
// The table of options of a command, and parsing a command line by it. --help, the man page and the
// shell completion are made from the same table.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"

namespace muster {

enum class Arity {
  flag,  // no value
  one,   // one value; the last one counts
  each,  // one value; may be repeated
  many,  // all values that follow
};

struct OptionText {
  std::string_view name;      // "--profile", or "-v,--verbose"
  std::string_view argument;  // "NAME|FILE"; for a choice "text|json"; empty for a flag
  Arity arity;
  std::string_view help;
};

template <class Command>
struct Option : OptionText {
  Result<void> (*set)(Command&, std::string_view argument, std::string_view value);
};

struct CommandText {
  std::string_view program;   // "muster"
  std::string_view name;      // "check"; empty if the program has no commands
  std::string_view synopsis;  // the arguments: "[OPTION]...", "CHECK [OPTION]..."
  std::string_view about;     // one line
  std::vector<OptionText> options;
  std::string_view examples = {};  // lines, each indented by two blanks
};

// Includes --help, which every command has.
template <class Command>
[[nodiscard]] std::vector<OptionText> texts_of(std::span<const Option<Command>> options) {
  std::vector<OptionText> texts(options.begin(), options.end());
  texts.push_back({"-h,--help", "", Arity::flag, "print this help"});
  return texts;
}

[[nodiscard]] std::string command_help(const CommandText& command);
// "; did you mean --profile?", or nothing if no candidate is similar.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);

// Parsers of option values. The caller puts the option's name before the error.
[[nodiscard]] Result<void> take_text(std::string& target, std::string_view value);
// Returns the index of `value` in a choice such as "text|json".
[[nodiscard]] Result<std::size_t> take_choice(std::string_view choices, std::string_view value);
// Above zero and up to 24 h.
[[nodiscard]] Result<Seconds> take_duration(std::string_view value);
[[nodiscard]] Result<int> take_number(std::string_view value, int least, int most);

// Parses `value` as the type of the member. The words of a choice are in the order of its
// enumeration.
template <class Member>
[[nodiscard]] Result<void> take_value(Member& target, std::string_view argument,
                                      std::string_view value) {
  if constexpr (std::is_same_v<Member, bool>) {
    target = true;
    return {};
  } else if constexpr (std::is_enum_v<Member>) {
    TRY_ASSIGN(const auto index, take_choice(argument, value));
    target = static_cast<Member>(index);
    return {};
  } else if constexpr (std::is_same_v<Member, std::vector<std::string>>) {
    return take_text(target.emplace_back(), value);
  } else if constexpr (std::is_same_v<Member, std::string>) {
    return take_text(target, value);
  } else {
    TRY_ASSIGN(target, take_duration(value));
    return {};
  }
}

// For members that are whole numbers or optional whole numbers.
template <int kMin, int kMax = std::numeric_limits<int>::max()>
struct AtLeast {
  template <class Member>
  [[nodiscard]] Result<void> operator()(Member& target, std::string_view value) const {
    TRY_ASSIGN(const int number, take_number(value, kMin, kMax));
    target = static_cast<Member>(number);
    return {};
  }
};

template <class>
struct MemberPointer;

template <class C, class M>
struct MemberPointer<M C::*> {
  using Command = C;
  using Member = M;
};

// Makes a row of the table. Its value is parsed by the type of `kMember`, or by
// `kTake(member, value)`. Without an argument it is a flag; for a list it may be repeated.
template <auto kMember, auto kTake = nullptr>
[[nodiscard]] consteval auto option(std::string_view name, std::string_view argument,
                                    std::string_view help,
                                    std::optional<Arity> arity = std::nullopt) {
  using Command = typename MemberPointer<decltype(kMember)>::Command;
  using Member = typename MemberPointer<decltype(kMember)>::Member;
  constexpr bool kList = std::is_same_v<Member, std::vector<std::string>>;
  const auto usual = argument.empty() ? Arity::flag : kList ? Arity::each : Arity::one;
  const auto set = [](Command& command, std::string_view words, std::string_view value) {
    if constexpr (std::is_null_pointer_v<decltype(kTake)>) {
      return take_value(command.*kMember, words, value);
    } else {
      return kTake(command.*kMember, value);
    }
  };
  return Option<Command>{{name, argument, arity.value_or(usual), help}, set};
}

// An option and the function that takes each of its values.
struct OptionTaker {
  OptionText text;
  std::function<Result<void>(std::string_view value)> take;
};

// Makes takers that store the values in `command`, which must outlive them.
template <class Command>
[[nodiscard]] std::vector<OptionTaker> takers_for(std::type_identity_t<Command>& command,
                                                  std::span<const Option<Command>> options) {
  std::vector<OptionTaker> takers;
  takers.reserve(options.size());
  for (const auto& option : options) {
    takers.push_back({option, [&command, &option](std::string_view value) {
                        return option.set(command, option.argument, value);
                      }});
  }
  return takers;
}

struct CommandLine {
  bool help = false;               // --help was given; the rest of the line is ignored
  std::vector<std::string> words;  // arguments that are not options
};

// Parses the arguments after the name of the command. Words that are not options are refused if
// the synopsis begins with the options. An error is bad usage.
[[nodiscard]] Result<CommandLine> take_line(std::vector<std::string> arguments,
                                            const CommandText& text,
                                            const std::vector<OptionTaker>& takers);

}  // namespace muster
