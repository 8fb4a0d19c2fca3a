// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/config.hpp"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <utility>

#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/words.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

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

// Fills in the check, or updates the variables where the line has only settings.
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
