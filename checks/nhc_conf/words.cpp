// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool within_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

bool is_name(std::string_view text) {
  return !text.empty() && begins_name(text.front()) && std::ranges::all_of(text, within_name);
}

tl::unexpected<Error> needs_shell(std::string_view what) {
  return make_error(fmt::format("{} needs a shell, and muster runs none", what));
}

struct Word {
  std::string text;
  std::size_t literal = 0;  // how much of its beginning was written without quotes and variables
  bool plain = true;        // nothing but that so far
  bool known = true;        // every variable in it has a value
};

class Reader {
 public:
  Reader(std::string_view text, const Variables& variables) : rest_(text), variables_(variables) {}

  [[nodiscard]] Result<std::vector<Word>> read() {
    while (!rest_.empty()) {
      if (auto taken = take(); !taken) return tl::unexpected(taken.error());
    }
    end_word();
    return std::move(words_);
  }

  [[nodiscard]] const std::string& unresolved() const { return unresolved_; }

 private:
  Result<void> take() {
    const char c = rest_.front();
    if (kBlanks.find(c) != std::string_view::npos) {
      end_word();
      rest_.remove_prefix(1);
      return {};
    }
    if (c == '#' && !open_) {
      rest_ = {};
      return {};
    }
    if (c == '~' && !open_) return needs_shell("\"~\"");
    if (c == '{' && is_brace_expansion()) return needs_shell("the expansion of {a,b}");
    if (c == '\'') return take_single();
    if (c == '"') return take_double();
    if (c == '\\') return take_escaped();
    if (c == '$') return take_variable(false);
    if (c == '`') return needs_shell("the command substitution `…`");
    if (std::string_view(";&|<>()").find(c) != std::string_view::npos) {
      return needs_shell(fmt::format("\"{}\"", c));
    }
    add(c, true);
    rest_.remove_prefix(1);
    return {};
  }

  // As in "/dev/{null,zero}" or "{1..3}"; "{n[1-4]}" stands for itself.
  [[nodiscard]] bool is_brace_expansion() const {
    const auto word = rest_.substr(0, rest_.find_first_of(kBlanks));
    const auto inside = word.substr(0, word.find('}'));
    if (inside.size() == word.size()) return false;
    return inside.find(',') != std::string_view::npos ||
           inside.find("..") != std::string_view::npos;
  }

  Result<void> take_single() {
    const auto end = rest_.find('\'', 1);
    if (end == std::string_view::npos) return make_error("a quote ' is not closed");
    open();
    for (const char c : rest_.substr(1, end - 1)) add(c, false);
    rest_.remove_prefix(end + 1);
    return {};
  }

  Result<void> take_double() {
    open();
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != '"') {
      const char c = rest_.front();
      if (c == '`') return needs_shell("the command substitution `…`");
      if (c == '$') {
        if (auto taken = take_variable(true); !taken) return taken;
        continue;
      }
      const bool escaped = c == '\\' && rest_.size() > 1 &&
                           std::string_view("$`\"\\").find(rest_[1]) != std::string_view::npos;
      if (escaped) rest_.remove_prefix(1);
      add(rest_.front(), false);
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return make_error("a quote \" is not closed");
    rest_.remove_prefix(1);
    return {};
  }

  Result<void> take_escaped() {
    rest_.remove_prefix(1);
    if (rest_.empty()) return make_error("a backslash stands at the end");
    add(rest_.front(), false);
    rest_.remove_prefix(1);
    return {};
  }

  // ${NAME}; anything else within the braces is work for a shell.
  Result<void> take_braced(std::string_view behind, bool quoted) {
    const auto end = behind.find('}');
    const auto name = behind.substr(1, end == std::string_view::npos ? end : end - 1);
    if (end == std::string_view::npos || !is_name(name)) {
      const auto shown = behind.substr(0, behind.find_first_of(kBlanks));
      return needs_shell(fmt::format("\"${}\"", printable(shown, 40)));
    }
    expand(name, quoted);
    rest_.remove_prefix(end + 2);
    return {};
  }

  // The text behind a dollar sign that is no variable stands for itself, as in a shell.
  Result<void> take_variable(bool quoted) {
    const auto behind = rest_.substr(1);
    if (behind.starts_with('(')) return needs_shell("the command substitution $(…)");
    if (!quoted && (behind.starts_with('\'') || behind.starts_with('"'))) {
      return needs_shell("the quote $'…'");
    }
    if (behind.starts_with('{')) return take_braced(behind, quoted);
    std::size_t length = 0;
    while (length < behind.size() && within_name(behind[length])) ++length;
    if (length > 0 && begins_name(behind.front())) {
      expand(behind.substr(0, length), quoted);
      rest_.remove_prefix(length + 1);
      return {};
    }
    if (!behind.empty() &&
        std::string_view("@*#?-$!0123456789").find(behind[0]) != std::string_view::npos) {
      return needs_shell(fmt::format("\"${}\"", behind[0]));
    }
    add('$', false);
    rest_.remove_prefix(1);
    return {};
  }

  void expand(std::string_view name, bool quoted) {
    const auto found = variables_.find(name);
    if (found == variables_.end() || !found->second) {
      open();
      word_.plain = word_.known = false;
      word_.text += fmt::format("${}", name);
      if (unresolved_.empty()) unresolved_ = name;
      return;
    }
    for (const char c : *found->second) {
      if (!quoted && kBlanks.find(c) != std::string_view::npos) {
        end_word();
      } else {
        add(c, false);
      }
    }
  }

  void open() { open_ = true; }

  void add(char c, bool literal) {
    open();
    word_.text.push_back(c);
    word_.plain = word_.plain && literal;
    if (word_.plain) word_.literal = word_.text.size();
  }

  void end_word() {
    if (open_) words_.push_back(std::exchange(word_, {}));
    open_ = false;
  }

  std::string_view rest_;
  const Variables& variables_;
  std::vector<Word> words_;
  Word word_;
  bool open_ = false;  // a word has begun, be it an empty one
  std::string unresolved_;
};

// NAME= must be written out; what a variable brings is no assignment.
std::optional<Setting> setting_of(const Word& word) {
  const auto equals = word.text.find('=');
  if (equals == std::string::npos || equals >= word.literal) return std::nullopt;
  auto name = word.text.substr(0, equals);
  if (!is_name(name)) return std::nullopt;
  Setting setting{.name = std::move(name), .value = std::nullopt};
  if (word.known) setting.value = word.text.substr(equals + 1);
  return setting;
}

}  // namespace

Result<Command> read_command(std::string_view text, const Variables& variables) {
  Reader reader(text, variables);
  TRY_ASSIGN(const auto words, reader.read());
  Command command;
  bool exporting = false;
  for (const auto& word : words) {
    const auto setting = command.words.empty() ? setting_of(word) : std::nullopt;
    if (setting) {
      command.settings.push_back(*setting);
    } else if (exporting && !is_name(word.text)) {
      return make_error(fmt::format("export of \"{}\"", printable(word.text, 40)));
    } else if (command.words.empty() && word.text == "export") {
      exporting = true;
    } else if (!exporting) {
      command.words.push_back(word.text);
      if (!word.known && command.unresolved.empty()) command.unresolved = reader.unresolved();
    }
  }
  return command;
}

}  // namespace muster::nhc
