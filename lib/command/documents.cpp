// SPDX-License-Identifier: Apache-2.0
#include "lib/command/documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::string_view kHelp = "-h,--help";

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Escapes for roff, which reads a plain "-" as a hyphen.
std::string escaped(std::string_view text) { return replaced(std::string(text), "-", "\\-"); }

// "of an element (default f32)" becomes "Of an element (default f32)."
std::string sentence(std::string_view help) {
  std::string text = escaped(help);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return fmt::format("{}.\n", replaced(wrapped(text, 0), "\n'", "\n\\&'"));
}

std::string heading(const OptionText& option) {
  const auto names = split(option.name, ',');
  if (option.argument.empty() && names.size() == 1) {
    return fmt::format(".TP\n.B {}\n", escaped(option.name));
  }
  if (option.argument.empty()) {
    return fmt::format(".TP\n.BR {}\n", escaped(fmt::format("{}", fmt::join(names, " \", \" "))));
  }
  return fmt::format(".TP\n.BI {} \" {}\"{}\n", escaped(option.name), option.argument,
                     option.arity == Arity::many ? " ..." : "");
}

// The manual section of one command: its options and the prose about each.
class ManualSection {
 public:
  explicit ManualSection(const CommandText& command) : command_(command) {}

  [[nodiscard]] bool has(std::string_view option) const {
    return std::ranges::any_of(command_.options, [&](const OptionText& each) {
      return split(each.name, ',').back() == option;
    });
  }

  void above(std::string_view line) { above_ += fmt::format("{}\n", line); }

  void begin(std::string_view option) {
    option_ = option;
    notes_[option_].above = std::exchange(above_, {});
  }

  // Adds a line about the current option, or about the command if there is none.
  void add_line(std::string_view line) { notes_[option_].text += fmt::format("{}\n", line); }

  [[nodiscard]] std::string text() {
    std::string text;
    if (!command_.name.empty()) {
      text = fmt::format(".SS {} {} {}\n", command_.program, command_.name,
                         escaped(command_.synopsis));
    }
    const auto& prose = notes_[""].text;
    text += prose.empty() ? sentence(command_.about) : prose;
    for (const auto& option : command_.options) {
      if (option.name == kHelp && !command_.name.empty()) continue;  // documented once
      const auto& note = notes_[split(option.name, ',').back()];
      text += note.above + heading(option) + sentence(option.help) + note.text;
    }
    return text;
  }

 private:
  struct Note {
    std::string above, text;
  };

  const CommandText& command_;
  std::string_view option_;
  std::string above_;
  std::map<std::string_view, Note> notes_;
};

// The argument of "@command " or "@option "; empty for another line.
std::string_view argument_of(std::string_view line, std::string_view word) {
  return line.starts_with(word) ? trim(line.substr(word.size())) : std::string_view();
}

// The line of the completion script for the values of an option or argument.
std::string offer(std::string_view where, std::string_view argument) {
  static const std::map<std::string_view, std::string_view> kKnown{
      {"FILE", "@FUNCTION@_files"},
      {"DIR", "@FUNCTION@_files"},
      {"FILE|DIR", "@FUNCTION@_files"},
      {"NAME|FILE", "@FUNCTION@_words \"$(@FUNCTION@_asked profiles)\""},
      {"GLOB,...", "@FUNCTION@_list \"$(@FUNCTION@_asked list)\""},
      {"CHECK", "@FUNCTION@_words \"$(@FUNCTION@_asked list)\""}};
  const auto known = kKnown.find(argument);
  std::string action(known == kKnown.end() ? "" : known->second);
  if (action.empty() && argument.find('|') != std::string_view::npos) {
    action = fmt::format("@FUNCTION@_words '{}'", replaced(std::string(argument), "|", " "));
  }
  return fmt::format("    {}) {};;\n", where, action.empty() ? "" : action + " ");
}

std::string offers_of(const CommandText& command) {
  std::string lines;
  for (const auto& option : command.options) {
    if (option.argument.empty()) continue;
    lines += offer(fmt::format("{}:{}", command.name, option.name), option.argument);
  }
  const auto first = command.synopsis.substr(0, command.synopsis.find(' '));
  if (first == "CHECK") lines += offer(fmt::format("{}:*", command.name), first);
  if (first.find('|') != std::string_view::npos) {
    lines += offer(fmt::format("{0}:{0}", command.name), first);
  }
  return lines;
}

}  // namespace

Result<std::string> man_page(std::string_view prose, const std::vector<CommandText>& commands) {
  std::string page;
  std::optional<ManualSection> section;
  const auto close = [&] {
    if (section) page += section->text();
    section.reset();
  };
  for (const auto line : split_lines(prose)) {
    if (const auto name = argument_of(line, "@command "); line.starts_with("@command")) {
      close();
      const auto found = std::ranges::find(commands, name, &CommandText::name);
      if (found == commands.end()) return make_error("@command {}: unknown command", name);
      section.emplace(*found);
    } else if (const auto option = argument_of(line, "@option "); !option.empty()) {
      if (!section || !section->has(option)) {
        return make_error("@option {}: unknown option of this command", option);
      }
      section->begin(option);
    } else if (section && line.starts_with(".SS ")) {
      section->above(line);
    } else {
      if (line.starts_with(".SH ")) close();
      section ? section->add_line(line) : void(page += fmt::format("{}\n", line));
    }
  }
  close();
  return page;
}

std::string completion(std::string_view script, const std::vector<CommandText>& commands,
                       const std::vector<Offer>& offers) {
  std::string first;
  std::string last;
  for (const auto& [where, action] : offers) {
    (where.ends_with('*') ? last : first) += fmt::format("    {}) {} ;;\n", where, action);
  }
  std::vector<std::string_view> names;
  std::string options;
  for (const auto& command : commands) {
    if (!command.name.empty()) names.push_back(command.name);
    std::vector<std::string_view> words;
    for (const auto& option : command.options) {
      for (const auto name : split(option.name, ',')) words.push_back(name);
    }
    options += fmt::format("    '{}') echo '{}' ;;\n", command.name, fmt::join(words, " "));
    first += offers_of(command);
  }
  const std::string program(commands.front().program);
  auto text = replaced(std::string(script), "@OPTIONS@\n", options);
  text = replaced(std::move(text), "@VALUES@\n", first + last);
  text = replaced(std::move(text), "@COMMANDS@", fmt::format("{}", fmt::join(names, " ")));
  text = replaced(std::move(text), "@FUNCTION@", fmt::format("_{}", replaced(program, "-", "_")));
  text = replaced(std::move(text), "@PROGRAM@", program);
  return text;
}

}  // namespace muster
