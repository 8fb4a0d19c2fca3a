// SPDX-License-Identifier: Apache-2.0
// The one table of options of a command: parsing, --help, the man page and the completion are made
// from it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"

namespace muster {

enum class Arity {
  flag,  // no value
  one,   // one value; the last one given counts
  each,  // one value, and may be repeated
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
  std::string_view name;      // "check"; empty where the program is the command
  std::string_view synopsis;  // what follows the name: "[OPTION]...", "CHECK [OPTION]..."
  std::string_view about;     // one line
  std::vector<OptionText> options;
  std::string_view examples = {};  // lines, each indented by two blanks
};

// With --help, which every command has.
template <class Command>
[[nodiscard]] std::vector<OptionText> texts_of(std::span<const Option<Command>> options) {
  std::vector<OptionText> texts(options.begin(), options.end());
  texts.push_back({"-h,--help", "", Arity::flag, "print this help"});
  return texts;
}

[[nodiscard]] std::string command_help(const CommandText& command);
// Words broken into lines that begin at `column`.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t column);
// "; did you mean --profile?", or nothing where none is near.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);
// "unknown option --profil; did you mean --profile?"
[[nodiscard]] Error unknown_option(std::string_view word, const CommandText& command);

// What the value of an option means. An error is bad usage, and the option's name is put before it.
[[nodiscard]] Result<void> take_text(std::string& target, std::string_view value);
// The place of `value` among the words of a choice such as "text|json".
[[nodiscard]] Result<std::size_t> take_choice(std::string_view choices, std::string_view value);
// Above zero and up to 24 h.
[[nodiscard]] Result<Seconds> take_duration(std::string_view value);
[[nodiscard]] Result<int> take_number(std::string_view value, int least);

// Puts `value` into a member by the member's type. The words of a choice stand in the order of its
// enumeration.
template <class Member>
[[nodiscard]] Result<void> take(Member& target, std::string_view argument, std::string_view value) {
  if constexpr (std::is_same_v<Member, bool>) {
    target = true;
    return {};
  } else if constexpr (std::is_enum_v<Member>) {
    return put(target, take_choice(argument, value));
  } else if constexpr (std::is_same_v<Member, std::vector<std::string>>) {
    return take_text(target.emplace_back(), value);
  } else if constexpr (std::is_same_v<Member, std::string>) {
    return take_text(target, value);
  } else {
    return put(target, take_duration(value));
  }
}

// For a member that is a whole number or an optional one.
template <int kLeast>
struct AtLeast {
  template <class Member>
  [[nodiscard]] Result<void> operator()(Member& target, std::string_view value) const {
    return put(target, take_number(value, kLeast));
  }
};

template <class>
struct MemberPointer;

template <class C, class M>
struct MemberPointer<M C::*> {
  using Command = C;
  using Member = M;
};

// A row of the table. Its value is put into `kMember`, by the member's type or by
// `kTake(member, value)`. What has no argument is a flag; what is kept in a list may be repeated.
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
      return take(command.*kMember, words, value);
    } else {
      return kTake(command.*kMember, value);
    }
  };
  return Option<Command>{{name, argument, arity.value_or(usual), help}, set};
}

}  // namespace muster
