// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/config.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "checks/nhc_conf/match.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kSeparator = "||";

// NHC reads with bash's `read`, which takes backslashes away: before a line's end it joins the next
// one, elsewhere the character behind it stays.
struct Joined {
  int number = 0;
  std::string text;
};

std::vector<Joined> join_lines(std::string_view text) {
  std::vector<Joined> lines;
  int number = 0;
  bool open = false;
  for (const auto line : split_lines(text)) {
    ++number;
    if (!open) lines.push_back({.number = number, .text = {}});
    open = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] != '\\') {
        lines.back().text.push_back(line[i]);
      } else if (i + 1 == line.size()) {
        open = true;
      } else {
        lines.back().text.push_back(line[++i]);
      }
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
  if (line.command.empty()) line.complaint = fmt::format("no check behind {}", kSeparator);
  return line;
}

// What NHC itself sets and documents.
Variables variables_of(std::string_view node) {
  return {{"HOSTNAME", std::string(node)},
          {"HOSTNAME_S", std::string(without_domain(node))},
          {"NAME", "nhc"},
          {"PATH", "/sbin:/usr/sbin:/bin:/usr/bin"}};
}

Result<bool> is_for(const Line& line, std::string_view node) {
  if (line.target == "*") return true;
  if (node.empty()) return make_error("the node's own name is not known");
  return matches(line.target, node);
}

void add_command(const Line& line, Variables& variables, std::vector<CheckLine>& check_lines) {
  auto command = read_command(line.command, variables);
  if (!command) {
    check_lines.push_back({.number = line.number, .complaint = command.error().message});
    return;
  }
  for (auto& setting : command->settings) {
    // Before a check it holds for that check alone.
    if (command->words.empty()) variables[setting.name] = std::move(setting.value);
  }
  if (command->words.empty()) return;
  CheckLine check_line{.number = line.number, .check = std::move(command->words.front())};
  check_line.arguments.assign(std::make_move_iterator(command->words.begin() + 1),
                              std::make_move_iterator(command->words.end()));
  check_line.unresolved = std::move(command->unresolved);
  check_lines.push_back(std::move(check_line));
}

using Chooses = std::function<Result<bool>(const Line&)>;

std::vector<CheckLine> check_lines_of(const Config& config, std::string_view node,
                                      const Chooses& chooses) {
  auto variables = variables_of(node);
  std::vector<CheckLine> check_lines;
  for (const auto& line : config.lines) {
    if (!line.complaint.empty()) {
      check_lines.push_back({.number = line.number, .complaint = line.complaint});
      continue;
    }
    const auto chosen = chooses(line);
    if (!chosen) {
      check_lines.push_back({.number = line.number, .complaint = chosen.error().message});
    } else if (*chosen) {
      add_command(line, variables, check_lines);
    }
  }
  return check_lines;
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
  return fmt::format("the variable ${} is not known", printable(line.unresolved, 40));
}

std::vector<CheckLine> check_lines_on(const Config& config, std::string_view node) {
  return check_lines_of(config, node, [&](const Line& line) { return is_for(line, node); });
}

std::vector<CheckLine> all_check_lines(const Config& config) {
  return check_lines_of(config, {}, [](const Line&) { return true; });
}

}  // namespace muster::nhc
