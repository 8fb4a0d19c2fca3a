// SPDX-License-Identifier: Apache-2.0
// check_file_contents: lines that a file must have, and lines that it must not.
#include <algorithm>

#include "checks/nhc_conf/judging.hpp"
#include "checks/nhc_conf/match.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

// As `read` of a shell takes them: without the blanks at both ends, and a backslash stands for the
// character behind it.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  const auto end_line = [&] {
    lines.emplace_back(trim(line));
    line.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      if (text[i] != '\n') line += text[i];
    } else if (text[i] == '\n') {
      end_line();
    } else {
      line += text[i];
    }
  }
  if (!line.empty()) end_line();
  return lines;
}

// The number of the first line that matches; 0 for none.
Result<std::size_t> find_line(const std::vector<std::string>& lines, std::string_view expression) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto found = matches(expression, lines[i]);
    if (!found) return tl::unexpected(found.error());
    if (*found) return i + 1;
  }
  return std::size_t{0};
}

Finding wrong(const std::string& path, std::string message) {
  return {.device = path,
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = Remedy::fix_config};
}

// One expression; a pass where it holds.
Finding judge_expression(const std::string& path,
                         const std::vector<std::string>& lines,
                         std::string_view expression) {
  const bool negated = expression.starts_with('!');
  if (negated) expression.remove_prefix(1);
  const auto line = find_line(lines, expression);
  if (!line) return not_judged(line.error().message, path);
  const auto words = printable(expression, 80);
  if (negated && *line > 0) {
    return wrong(path, fmt::format("line {} of {} matches \"{}\"", *line, path, words));
  }
  if (!negated && *line == 0) {
    return wrong(path, fmt::format("no line of {} matches \"{}\"", path, words));
  }
  return checks::passed({}, path);
}

}  // namespace

Findings judge_file_contents(const Snapshot& snapshot, const Arguments& arguments) {
  const std::string path(argument(arguments, 0));
  const auto device = printable(path);
  const auto& files = snapshot.environment->files;
  const auto file = std::ranges::find(files, path, &FileFact::path);
  if (file == files.end()) return {not_judged(fmt::format("{} is not observed", device), device)};
  if (!file->exists && file->space.is_absent()) {
    return {wrong(device, fmt::format("{} is not there", device))};
  }
  if (!file->contents) return {not_judged(file->contents.why(), device)};
  const auto lines = lines_of(*file->contents);
  Findings undecided;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    auto finding = judge_expression(device, lines, arguments[i]);
    // One that does not hold decides, whatever the others are.
    if (finding.outcome == Outcome::fail) return {std::move(finding)};
    if (finding.outcome == Outcome::unknown) undecided.push_back(std::move(finding));
  }
  if (!undecided.empty()) return undecided;
  return {checks::passed(fmt::format("{} is as wanted", device), device)};
}

}  // namespace muster::nhc
