// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/config.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool within_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

bool is_name(std::string_view text) {
  return !text.empty() && begins_name(text.front()) && std::ranges::all_of(text, within_name);
}

tl::unexpected<Error> needs_shell(std::string_view what) {
  return make_error("{} needs a shell: not translated, let NHC run it", what);
}

struct Word {
  std::string text;
  std::string unresolved = {};  // the first variable in it without a value
};

class WordSplitter {
 public:
  WordSplitter(std::string_view text, const Variables& variables)
      : rest_(text), variables_(variables) {}

  [[nodiscard]] Result<std::vector<Word>> split() {
    while (!rest_.empty()) TRY(consume(take()));
    if (quote_ != '\0') return make_error("missing closing quote {}", quote_);
    end_word();
    return std::move(words_);
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  Result<void> consume(char c) {
    if (c == quote_) {
      quote_ = '\0';
    } else if (quote_ == '\'') {
      append(c);
    } else if (c == '$') {
      return expand();
    } else if (c == '\\') {
      return escape();
    } else if (c == '`') {
      return needs_shell("\"`\"");
    } else if (quote_ == '"') {
      append(c);
    } else {
      return consume_unquoted(c);
    }
    return {};
  }

  Result<void> consume_unquoted(char c) {
    const bool needs_one = std::string_view(";&|<>()").find(c) != std::string_view::npos;
    if (needs_one || (c == '~' && !open_)) return needs_shell(fmt::format("\"{}\"", c));
    if (c == '{' && begins_brace_expansion()) return needs_shell("the expansion of {a,b}");
    if (c == '\'' || c == '"') {
      quote_ = c;
      open_ = true;
    } else if (kBlanks.find(c) != std::string_view::npos) {
      end_word();
    } else if (c == '#' && !open_) {
      rest_ = {};
    } else {
      append(c);
    }
    return {};
  }

  // In double quotes, a backslash before any other character stands for itself.
  Result<void> escape() {
    const bool is_literal =
        quote_ == '"' &&
        (rest_.empty() || std::string_view("$`\"\\").find(rest_.front()) == std::string_view::npos);
    if (!is_literal && rest_.empty()) return make_error("backslash at the end of the line");
    append(is_literal ? '\\' : take());
    return {};
  }

  // bash expands "{null,zero}" and "{1..3}", and leaves "{n[1-4]}" as it is.
  [[nodiscard]] bool begins_brace_expansion() const {
    const auto inside = rest_.substr(0, rest_.find_first_of(" \t\r\n}"));
    const bool closed = inside.size() < rest_.size() && rest_[inside.size()] == '}';
    return closed && (inside.find(',') != std::string_view::npos ||
                      inside.find("..") != std::string_view::npos);
  }

  // NAME or {NAME}. A dollar sign before anything that is not an expansion stands for itself.
  Result<void> expand() {
    const bool braced = rest_.starts_with('{');
    const auto* const end = std::ranges::find_if_not(rest_, within_name);
    const auto length = braced ? rest_.find('}') : static_cast<std::size_t>(end - rest_.begin());
    const auto name = length == std::string_view::npos
                          ? ""
                          : rest_.substr(braced ? 1 : 0, length - (braced ? 1 : 0));
    if (is_name(name)) {
      substitute(name);
      rest_.remove_prefix(length + (braced ? 1 : 0));
      return {};
    }
    const char next = rest_.empty() ? ' ' : rest_.front();
    const bool quotes = quote_ == '\0' && (next == '\'' || next == '"');
    if (quotes || std::string_view("({@*#?-$!0123456789").find(next) != std::string_view::npos) {
      return needs_shell(fmt::format("\"${}\"", next));
    }
    append('$');
    return {};
  }

  void substitute(std::string_view name) {
    const auto found = variables_.find(name);
    if (found == variables_.end()) {
      open_ = true;
      word_.text += fmt::format("${}", name);
      if (word_.unresolved.empty()) word_.unresolved = name;
      return;
    }
    for (const char c : found->second) {
      if (quote_ == '\0' && kBlanks.find(c) != std::string_view::npos) {
        end_word();
      } else {
        append(c);
      }
    }
  }

  void append(char c) {
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
  char quote_ = '\0';  // the open quote
};

bool is_setting(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && is_name(word.substr(0, equals));
}

void apply_setting(const Word& word, Variables& variables) {
  const auto equals = word.text.find('=');
  const auto name = word.text.substr(0, equals);
  if (word.unresolved.empty()) {
    variables[name] = word.text.substr(equals + 1);
  } else {
    variables.erase(name);
  }
}

// The C library matches by recursion and by trying combinations. These functions return why a
// pattern would exhaust the stack, the memory or the time, or an empty text.
std::string excess_in(std::string_view pattern) {
  constexpr std::size_t kLongest = 4096;
  constexpr int kDeepest = 64;
  if (pattern.size() > kLongest) return fmt::format("longer than {} characters", kLongest);
  int depth = 0;
  for (const char each : pattern) {
    if (each == '(' && ++depth > kDeepest) return fmt::format("{} nested groups", depth);
    if (each == ')') --depth;
  }
  return {};
}

// The larger number of "{2,255}"; 1 without a number.
std::uint64_t repeat_count(std::string_view braces) {
  const auto inside = braces.substr(0, braces.find('}'));
  const auto comma = inside.find(',');
  const auto last = comma == std::string_view::npos ? inside : inside.substr(comma + 1);
  return std::max<std::uint64_t>(parse_unsigned(last).value_or(1), 1);
}

std::string excess_in_regex(std::string_view pattern) {
  constexpr std::uint64_t kMaxCopies = 100'000;
  constexpr int kMaxInARow = 8;
  std::uint64_t copies = 1;
  int in_a_row = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char each = pattern[i];
    in_a_row = each == '*' || each == '+' || each == '?' ? in_a_row + 1 : 0;
    if (in_a_row > kMaxInARow) return fmt::format("{} repetitions in a row", in_a_row);
    if (each == '{') copies *= std::min(repeat_count(pattern.substr(i + 1)), kMaxCopies);
    if (copies > kMaxCopies) return fmt::format("more than {} copies of a part", kMaxCopies);
    if (each == '\\' && ++i < pattern.size() && pattern[i] >= '1' && pattern[i] <= '9') {
      return "a reference to a group";
    }
  }
  return excess_in(pattern);
}

std::string excess_in_glob(std::string_view pattern) {
  std::vector<bool> repeated;  // of the open groups: "*(" and "+("
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '(') {
      const bool repeats = i > 0 && (pattern[i - 1] == '*' || pattern[i - 1] == '+');
      if (repeats && std::ranges::count(repeated, true) > 0) return "nested repetitions";
      repeated.push_back(repeats);
    } else if (pattern[i] == ')' && !repeated.empty()) {
      repeated.pop_back();
    }
  }
  return excess_in(pattern);
}

// bash also matches [[ … =~ … ]] with the C library's POSIX extended expressions.
Result<bool> matches_regex(const std::string& pattern, const std::string& text) {
  if (auto excess = excess_in_regex(pattern); !excess.empty()) return make_error(std::move(excess));
  regex_t compiled{};
  if (const int failure = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {
    std::array<char, 128> why{};
    ::regerror(failure, &compiled, why.data(), why.size());
    return make_error(why.data());
  }
  const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

Result<bool> matches_range(const std::string& range, const std::string& text) {
  TRY_ASSIGN(const auto names, expand_hostlist(range));
  return std::ranges::find(names, text) != names.end();
}

// The globs of bash's [[ … == … ]].
Result<bool> matches_extended_glob(const std::string& pattern, const std::string& text) {
  if (auto excess = excess_in_glob(pattern); !excess.empty()) return make_error(std::move(excess));
  return ::fnmatch(pattern.c_str(), text.c_str(), FNM_EXTMATCH) == 0;
}

constexpr std::string_view kSeparator = "||";

// The lines with their numbers. NHC reads them with bash's `read`: a backslash at the end of a line
// joins the next one, and any other backslash is dropped.
std::vector<std::pair<int, std::string>> join_lines(std::string_view text) {
  std::vector<std::pair<int, std::string>> lines;
  int number = 0;
  bool continues = false;
  for (const auto line : split_lines(text)) {
    ++number;
    if (!continues) lines.emplace_back(number, "");
    continues = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool escaped = line[i] == '\\';
      continues = escaped && i + 1 == line.size();
      if (!continues) lines.back().second.push_back(line[escaped ? ++i : i]);
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

}  // namespace

Result<bool> matches(std::string_view expression, std::string_view text) {
  const bool negated = expression.starts_with('!');
  if (negated) expression.remove_prefix(1);
  if (expression.empty()) return make_error("empty match string");
  const auto enclosed = [&](char first, char last) {
    return expression.size() >= 2 && expression.front() == first && expression.back() == last;
  };
  std::string_view kind = "glob";
  auto match = matches_extended_glob;
  std::string pattern(expression);
  if (enclosed('/', '/') || enclosed('{', '}')) {
    const bool is_regex = expression.front() == '/';
    kind = is_regex ? "expression" : "range";
    match = is_regex ? matches_regex : matches_range;
    pattern = expression.substr(1, expression.size() - 2);
  }
  const auto found = match(pattern, std::string(text));
  if (found) return *found != negated;
  return make_error("the {} {}: {}", kind, printable(expression, 80), found.error().message);
}

Result<void> read_command(std::string_view text, Variables& variables, CheckLine& line) {
  TRY_ASSIGN(const auto words, WordSplitter(text, variables).split());
  std::vector<const Word*> settings;
  bool exporting = false;
  for (const auto& word : words) {
    const bool is_first = line.check.empty();
    if (is_first && is_setting(word.text)) {
      settings.push_back(&word);
    } else if (exporting ? !is_name(word.text) : is_first && word.text.empty()) {
      return make_error("invalid word \"{}\"", printable(word.text, 40));
    } else if (is_first && word.text == "export") {
      exporting = true;
    } else if (!exporting) {
      if (is_first) line.check = word.text;
      if (!is_first) line.arguments.push_back(word.text);
      if (line.unresolved.empty()) line.unresolved = word.unresolved;
    }
  }
  if (!line.check.empty()) return {};
  for (const auto* const word : settings) apply_setting(*word, variables);
  return {};
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

std::vector<CheckLine> check_lines(const Config& config, std::optional<std::string_view> node) {
  auto variables = variables_of(node.value_or(""));
  std::vector<CheckLine> selected;
  for (const auto& line : config.lines) {
    CheckLine check_line{.number = line.number, .complaint = line.complaint};
    if (line.complaint.empty()) {
      const auto wanted = node ? is_for(line, *node) : Result<bool>(true);
      const auto read = wanted.and_then([&](bool is_wanted) {
        return is_wanted ? read_command(line.command, variables, check_line) : Result<void>();
      });
      if (!read) check_line.complaint = read.error().message;
    }
    if (!check_line.check.empty() || !check_line.complaint.empty()) {
      selected.push_back(std::move(check_line));
    }
  }
  return selected;
}

}  // namespace muster::nhc
