// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <utility>

#include "lib/base/host_name.hpp"
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
  return make_error(fmt::format("{} needs a shell: not translated, let NHC run it", what));
}

struct Word {
  std::string text;
  bool known = true;  // every variable in it has a value
};

class WordSplitter {
 public:
  WordSplitter(std::string_view text, const Variables& variables)
      : rest_(text), variables_(variables) {}

  [[nodiscard]] Result<std::vector<Word>> split() {
    while (!rest_.empty()) TRY(consume());
    end_word();
    return std::move(words_);
  }

  // The first variable without a value.
  [[nodiscard]] const std::string& unresolved() const { return unresolved_; }

 private:
  Result<void> consume() {
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
    if (c == '\'') return consume_single_quotes();
    if (c == '"') return consume_double_quotes();
    if (c == '$') return consume_variable(false);
    if (c == '\\') {
      if (rest_.size() == 1) return make_error("backslash at the end of the line");
      append_char(rest_[1]);
      rest_.remove_prefix(2);
      return {};
    }
    const bool tilde = c == '~' && !open_;
    if (tilde || std::string_view(";&|<>()`").find(c) != std::string_view::npos) {
      return needs_shell(fmt::format("\"{}\"", c));
    }
    if (c == '{' && begins_brace_expansion()) return needs_shell("the expansion of {a,b}");
    append_char(c);
    rest_.remove_prefix(1);
    return {};
  }

  // bash expands "{null,zero}" and "{1..3}", and leaves "{n[1-4]}" as it is.
  [[nodiscard]] bool begins_brace_expansion() const {
    const auto inside = rest_.substr(0, rest_.find_first_of(" \t\r\n}"));
    const bool closed = inside.size() < rest_.size() && rest_[inside.size()] == '}';
    return closed && (inside.find(',') != std::string_view::npos ||
                      inside.find("..") != std::string_view::npos);
  }

  Result<void> consume_single_quotes() {
    const auto end = rest_.find('\'', 1);
    if (end == std::string_view::npos) return make_error("missing closing quote '");
    open_ = true;
    for (const char c : rest_.substr(1, end - 1)) append_char(c);
    rest_.remove_prefix(end + 1);
    return {};
  }

  Result<void> consume_double_quotes() {
    open_ = true;
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != '"') {
      const char c = rest_.front();
      if (c == '`') return needs_shell("\"`\"");
      if (c == '$') {
        TRY(consume_variable(true));
        continue;
      }
      const bool escaped = c == '\\' && rest_.size() > 1 &&
                           std::string_view("$`\"\\").find(rest_[1]) != std::string_view::npos;
      if (escaped) rest_.remove_prefix(1);
      append_char(rest_.front());
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return make_error("missing closing quote \"");
    rest_.remove_prefix(1);
    return {};
  }

  // $NAME or ${NAME}. A dollar sign before anything that is not an expansion stands for itself.
  Result<void> consume_variable(bool quoted) {
    auto name = rest_.substr(1);
    const bool braced = name.starts_with('{');
    if (braced) name = name.substr(1, name.find('}') - 1);
    if (!braced) {
      const auto* const end = std::ranges::find_if_not(name, within_name);
      name = name.substr(0, static_cast<std::size_t>(end - name.begin()));
    }
    const auto length = 1 + name.size() + (braced ? 2 : 0);
    if (is_name(name) && length <= rest_.size()) {
      expand(name, quoted);
      rest_.remove_prefix(length);
      return {};
    }
    const char next = rest_.size() > 1 ? rest_[1] : ' ';
    const bool quotes = !quoted && (next == '\'' || next == '"');
    if (quotes || std::string_view("({@*#?-$!0123456789").find(next) != std::string_view::npos) {
      return needs_shell(fmt::format("\"${}\"", next));
    }
    append_char('$');
    rest_.remove_prefix(1);
    return {};
  }

  void expand(std::string_view name, bool quoted) {
    const auto found = variables_.find(name);
    if (found == variables_.end() || !found->second) {
      open_ = true;
      word_.known = false;
      word_.text += fmt::format("${}", name);
      if (unresolved_.empty()) unresolved_ = name;
      return;
    }
    for (const char c : *found->second) {
      if (!quoted && kBlanks.find(c) != std::string_view::npos) {
        end_word();
      } else {
        append_char(c);
      }
    }
  }

  void append_char(char c) {
    open_ = true;
    word_.text.push_back(c);
  }

  void end_word() {
    if (open_) words_.push_back(std::exchange(word_, {}));
    open_ = false;
  }

  std::string_view rest_;
  const Variables& variables_;
  std::vector<Word> words_;
  Word word_;
  bool open_ = false;  // a word has begun, possibly an empty one
  std::string unresolved_;
};

std::optional<Setting> setting_of(const Word& word) {
  const auto equals = word.text.find('=');
  if (equals == std::string::npos || !is_name(word.text.substr(0, equals))) return std::nullopt;
  Setting setting{.name = word.text.substr(0, equals), .value = std::nullopt};
  if (word.known) setting.value = word.text.substr(equals + 1);
  return setting;
}

constexpr std::string_view kSeparator = "||";

struct JoinedLine {
  int number = 0;
  std::string text;
};

// NHC reads lines with bash's `read`: a backslash at the end of a line joins the next one, and any
// other backslash is dropped.
std::vector<JoinedLine> join_lines(std::string_view text) {
  std::vector<JoinedLine> lines;
  int number = 0;
  bool continues = false;
  for (const auto line : split_lines(text)) {
    ++number;
    if (!continues) lines.push_back({.number = number, .text = {}});
    continues = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool escaped = line[i] == '\\';
      continues = escaped && i + 1 == line.size();
      if (!continues) lines.back().text.push_back(line[escaped ? ++i : i]);
    }
  }
  return lines;
}

Line parse_line(int number, std::string_view text) {
  Line line{.number = number};
  const auto separator = text.find(kSeparator);
  if (separator == std::string_view::npos) {
    line.complaint = fmt::format("no {} in \"{}\"", kSeparator, printable(text, 80));
    return line;
  }
  line.target = trim(text.substr(0, separator));
  line.command = trim(text.substr(separator + kSeparator.size()));
  if (line.target.empty()) line.complaint = fmt::format("no target before {}", kSeparator);
  if (line.command.empty()) line.complaint = fmt::format("no check after {}", kSeparator);
  return line;
}

// The variables that NHC itself sets.
Variables variables_of(std::string_view node) {
  return {{"HOSTNAME", std::string(node)},
          {"HOSTNAME_S", std::string(without_domain(node))},
          {"NAME", "nhc"},
          {"PATH", "/sbin:/usr/sbin:/bin:/usr/bin"}};
}

Result<bool> is_for(const Line& line, std::string_view node) {
  if (line.target == "*") return true;
  if (node.empty()) return make_error("the name of this node is unknown");
  return matches(line.target, node);
}

using IsSelected = std::function<Result<bool>(const Line&)>;

// Fills in the check, or updates the variables if the line only sets some.
Result<void> evaluate(const Line& line, Variables& variables, CheckLine& check_line) {
  TRY_ASSIGN(auto command, read_command(line.command, variables));
  if (command.words.empty()) {
    for (auto& setting : command.settings) variables[setting.name] = std::move(setting.value);
    return {};
  }
  check_line.check = std::move(command.words.front());
  check_line.arguments.assign(std::make_move_iterator(command.words.begin() + 1),
                              std::make_move_iterator(command.words.end()));
  check_line.unresolved = std::move(command.unresolved);
  return {};
}

std::vector<CheckLine> select_lines(const Config& config, std::string_view node,
                                    const IsSelected& is_selected) {
  auto variables = variables_of(node);
  std::vector<CheckLine> selected;
  for (const auto& line : config.lines) {
    CheckLine check_line{.number = line.number, .complaint = line.complaint};
    const auto wanted = line.complaint.empty() ? is_selected(line) : Result<bool>(false);
    if (!wanted) check_line.complaint = wanted.error().message;
    if (wanted && *wanted) {
      const auto evaluated = evaluate(line, variables, check_line);
      if (!evaluated) check_line.complaint = evaluated.error().message;
    }
    if (!check_line.check.empty() || !check_line.complaint.empty()) {
      selected.push_back(std::move(check_line));
    }
  }
  return selected;
}

}  // namespace

Result<Command> read_command(std::string_view text, const Variables& variables) {
  WordSplitter splitter(text, variables);
  TRY_ASSIGN(const auto words, splitter.split());
  Command command;
  bool exporting = false;
  for (const auto& word : words) {
    const auto setting = command.words.empty() ? setting_of(word) : std::nullopt;
    if (setting) {
      command.settings.push_back(*setting);
    } else if (exporting && !is_name(word.text)) {
      return make_error(fmt::format("invalid export of \"{}\"", printable(word.text, 40)));
    } else if (command.words.empty() && word.text == "export") {
      exporting = true;
    } else if (!exporting) {
      command.words.push_back(word.text);
      if (!word.known && command.unresolved.empty()) command.unresolved = splitter.unresolved();
    }
  }
  return command;
}

Config parse_config(std::string file, std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Config config{.file = std::move(file)};
  for (const auto& [number, line] : join_lines(text)) {
    const auto content = trim(line);
    if (content.empty() || content.starts_with('#')) continue;
    config.lines.push_back(parse_line(number, content));
  }
  return config;
}

std::string unknown_variable(const CheckLine& line) {
  return fmt::format("the variable ${} has no known value", printable(line.unresolved, 40));
}

std::vector<CheckLine> check_lines_on(const Config& config, std::string_view node) {
  return select_lines(config, node, [&](const Line& line) { return is_for(line, node); });
}

std::vector<CheckLine> all_check_lines(const Config& config) {
  return select_lines(config, {}, [](const Line&) { return true; });
}

}  // namespace muster::nhc
