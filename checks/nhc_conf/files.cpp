// SPDX-License-Identifier: Apache-2.0
// check_file_test: what a shell's test asks of files; check_file_stat: their owners, permissions
// and ages; check_file_contents: lines that a file must have, and lines that it must not.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <utility>

#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/options.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

// Null for one that was not looked for.
const FileFact* file_at(const Snapshot& snapshot, const std::string& path) {
  const auto& files = snapshot.environment->files;
  const auto found = std::ranges::find(files, path, &FileFact::path);
  return found == files.end() ? nullptr : &*found;
}

// Only files with a whole path are looked for.
std::vector<std::string> whole_paths(std::vector<std::string> paths) {
  std::erase_if(paths, [](const auto& path) { return !path.starts_with('/'); });
  return paths;
}

// The answers below are empty where the facts do not tell. NHC runs as root: what anybody may do,
// root may do too, and where nobody may, it depends.
std::optional<bool> is_of_type(const FileFact& file, std::string_view type) {
  if (file.directory || type == "directory") return file.directory && type == "directory";
  if (file.executable) return type == "regular";
  return file.type ? std::optional(*file.type == type) : std::nullopt;
}

std::optional<bool> has_bit(const FileFact& file, unsigned bits) {
  return file.mode ? std::optional((*file.mode & bits) != 0) : std::nullopt;
}

std::optional<bool> may_be_read(const FileFact& file) {
  return has_bit(file, 0444).value_or(false) ? std::optional(true) : std::nullopt;
}

// Devices can be written on a file system that takes no writes.
std::optional<bool> may_be_written(const FileFact& file) {
  const bool holds_data =
      is_of_type(file, "regular").value_or(false) || is_of_type(file, "directory").value_or(false);
  if (holds_data && file.read_only.value_or(false)) return false;
  return file.writable.value_or(false) ? std::optional(true) : std::nullopt;
}

std::optional<bool> may_be_executed(const FileFact& file) {
  const bool regular = is_of_type(file, "regular").value_or(!file.directory);
  if (regular) return file.executable;
  return has_bit(file, 0111).value_or(false) ? std::optional(true) : std::nullopt;
}

std::optional<bool> of_existing(char test, const FileFact& file) {
  constexpr std::array kTypes{std::pair{'b', "block"},     std::pair{'c', "character"},
                              std::pair{'d', "directory"}, std::pair{'f', "regular"},
                              std::pair{'p', "fifo"},      std::pair{'S', "socket"}};
  constexpr std::array kBits{std::pair{'u', 04000U}, std::pair{'g', 02000U},
                             std::pair{'k', 01000U}};
  for (const auto& [letter, type] : kTypes) {
    if (letter == test) return is_of_type(file, type);
  }
  for (const auto& [letter, bits] : kBits) {
    if (letter == test) return has_bit(file, bits);
  }
  if (test == 'r') return may_be_read(file);
  if (test == 'w') return may_be_written(file);
  if (test == 'x') return may_be_executed(file);
  if (test == 'O' && file.owner) return *file.owner == 0;
  if (test == 'G' && file.group) return *file.group == 0;
  if (test == 'N' && file.modified_s && file.accessed_s) {
    return *file.modified_s > *file.accessed_s;
  }
  if (test == 's' && file.size_bytes) return *file.size_bytes > 0;
  return std::nullopt;
}

std::optional<bool> holds(char test, const FileFact& file) {
  if (test == 'h' || test == 'L') {
    if (file.link) return *file.link;
    // A snapshot of an earlier version does not tell.
    const bool gone = file.link.is_absent() && file.link != Fact<bool>();
    return gone ? std::optional(false) : std::nullopt;
  }
  if (test == 'a' || test == 'e') return file.exists;
  return file.exists ? of_existing(test, file) : false;
}

struct FileTest {
  std::string letters;
  std::vector<std::string> files;
  bool negated = false;
};

Result<FileTest> file_test_of(const Arguments& arguments) {
  constexpr std::string_view kLetters = "abcdefghkprstuwxOGLSN";
  FileTest test;
  for (const auto& word : arguments) {
    if (word == "-!") {
      test.negated = true;
    } else if (!word.starts_with('-')) {
      test.files.push_back(word);
    } else if (word.size() == 2 && kLetters.find(word[1]) != std::string_view::npos) {
      test.letters += word[1];
    } else {
      return make_error(fmt::format("there is no option {}", printable(word, 40)));
    }
  }
  if (test.letters.empty()) return make_error("no test is named");
  if (test.files.empty()) return make_error("no file is named");
  return test;
}

struct Tested {
  std::vector<std::string> failed, undecided;
};

Tested test_files(const Snapshot& snapshot, const FileTest& test) {
  Tested tested;
  for (const auto& path : test.files) {
    const FileFact* file = file_at(snapshot, path);
    for (const char letter : test.letters) {
      const auto held = file == nullptr ? std::nullopt : holds(letter, *file);
      if (held && *held) continue;
      auto& list = held ? tested.failed : tested.undecided;
      list.push_back(fmt::format("-{} {}", letter, printable(path)));
    }
  }
  return tested;
}

std::vector<std::string> tested_files(const Arguments& arguments) {
  auto test = file_test_of(arguments);
  return test ? whole_paths(std::move(test->files)) : std::vector<std::string>();
}

Findings judge_file_test(const Snapshot& snapshot, const Arguments& arguments) {
  const auto test = file_test_of(arguments);
  if (!test) return {not_judged(test.error().message)};
  const auto tested = test_files(snapshot, *test);
  const std::string device =
      test->files.size() == 1 ? printable(test->files.front()) : std::string(checks::kNode);
  const auto said = [&](bool held, std::string message) {
    if (held != test->negated) return checks::passed(std::move(message), device);
    return checks::failed(device, std::move(message), Remedy::fix_config);
  };
  // One test that does not hold decides, whatever the others are.
  if (!tested.failed.empty()) {
    return {said(false, fmt::format("{} does not hold", tested.failed.front()))};
  }
  if (!tested.undecided.empty()) {
    return {not_judged(fmt::format("{} is not observed", tested.undecided.front()), device)};
  }
  return {said(true, fmt::format("-{} holds for {}", test->letters, fmt::join(test->files, " ")))};
}

using Held = Result<bool>;  // an error: not to be told

Result<std::uint64_t> wanted_number(std::string_view text, int base) {
  std::uint64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number, base);
  if (failure == std::errc() && stopped == end) return number;
  return make_error(fmt::format("expects a number, got \"{}\"", printable(text, 40)));
}

template <class T>
Result<std::uint64_t> known(const Fact<T>& fact, std::string_view what) {
  if (fact) return static_cast<std::uint64_t>(*fact);
  return make_error(fmt::format("{} is not known: {}", what, fact.why()));
}

// When the snapshot was taken, in seconds since 1970.
Result<std::uint64_t> now_of(const Snapshot& snapshot) {
  std::tm time{};
  const auto* const end = ::strptime(snapshot.taken.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (end == nullptr) return make_error("when this was observed is not known");
  return static_cast<std::uint64_t>(::timegm(&time));
}

// Only root's number goes without a directory service.
Held is_named(const Fact<std::uint64_t>& id, std::string_view name) {
  TRY_ASSIGN(const auto seen, known(id, "the owner"));
  if (name == "root" || parse_unsigned(name)) return seen == parse_unsigned(name).value_or(0);
  return make_error("of the names of users and groups only root is known");
}

Held is_younger(const Snapshot& snapshot, const Fact<std::uint64_t>& time,
                std::string_view seconds) {
  const auto age = wanted_number(seconds, 10);
  const auto changed = known(time, "its age");
  const auto now = now_of(snapshot);
  if (!age) return tl::unexpected(age.error());
  if (!changed) return tl::unexpected(changed.error());
  if (!now) return tl::unexpected(now.error());
  return *changed + *age >= *now;
}

Held negated(const Held& held) { return held ? Held(!*held) : held; }

Held mode_holds(const FileFact& file, std::string_view wanted, bool exactly) {
  const auto bits = wanted_number(wanted, 8);
  const auto mode = known(file.mode, "its permissions");
  if (!bits || !mode) return tl::unexpected((bits ? mode : bits).error());
  return exactly ? *mode == *bits : (*mode & *bits) == *bits;
}

Held id_is(const Fact<std::uint64_t>& id, std::string_view wanted) {
  const auto number = wanted_number(wanted, 10);
  const auto seen = known(id, "the owner");
  if (!number || !seen) return tl::unexpected((number ? seen : number).error());
  return *seen == *number;
}

Held holds(const Snapshot& snapshot, const FileFact& file, char option, std::string_view wanted) {
  if (option == 'm' || option == 'M') return mode_holds(file, wanted, option == 'm');
  if (option == 'u') return id_is(file.owner, wanted);
  if (option == 'g') return id_is(file.group, wanted);
  if (option == 'U') return is_named(file.owner, wanted);
  if (option == 'G') return is_named(file.group, wanted);
  if (option == 'n') return is_younger(snapshot, file.modified_s, wanted);
  if (option == 'o') return negated(is_younger(snapshot, file.modified_s, wanted));
  if (option == 'N') return is_younger(snapshot, file.changed_s, wanted);
  if (option == 'O') return negated(is_younger(snapshot, file.changed_s, wanted));
  return make_error("numbers of devices are not observed");
}

constexpr std::string_view kStatOptions = "D:G:M:N:O:T:U:d:g:m:n:o:t:u:";

Finding judge_stat(const Snapshot& snapshot, const FileFact& file, const Options& options) {
  if (!file.exists && !file.space.is_absent()) return not_judged(file.space.why(), file.path);
  const auto wrong = [&](std::string message) {
    return checks::failed(printable(file.path), std::move(message), Remedy::fix_config);
  };
  if (!file.exists) return wrong(fmt::format("{} is not there", file.path));
  for (const auto& [option, values] : options.given) {
    const auto held = holds(snapshot, file, option, values.back());
    if (!held) return not_judged(fmt::format("-{}: {}", option, held.error().message), file.path);
    if (*held) continue;
    return wrong(fmt::format("-{} {} does not hold for {} (mode {:04o}, owner {}, group {})",
                             option, printable(values.back(), 40), file.path, file.mode.value_or(0),
                             file.owner.value_or(0), file.group.value_or(0)));
  }
  return checks::passed(fmt::format("{} is as wanted", printable(file.path)), file.path);
}

std::vector<std::string> stat_files(const Arguments& arguments) {
  auto options = read_options(arguments, kStatOptions);
  return options ? whole_paths(std::move(options->rest)) : std::vector<std::string>();
}

Findings judge_file_stat(const Snapshot& snapshot, const Arguments& arguments) {
  const auto options = read_options(arguments, kStatOptions);
  if (!options) return {not_judged(options.error().message)};
  if (options->rest.empty()) return {not_judged("no file is named")};
  Findings findings;
  for (const auto& path : options->rest) {
    const FileFact* file = file_at(snapshot, path);
    findings.push_back(file == nullptr
                           ? not_judged(fmt::format("{} is not observed", printable(path)), path)
                           : judge_stat(snapshot, *file, *options));
  }
  return findings;
}

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
    TRY_ASSIGN(const auto found, matches(expression, lines[i]));
    if (found) return i + 1;
  }
  return std::size_t{0};
}

// What contradicts an expression, or why that cannot be told; nothing where it holds.
std::optional<Finding> contradicts(const std::string& path, const std::vector<std::string>& lines,
                                   std::string_view expression) {
  const bool forbidden = expression.starts_with('!');
  if (forbidden) expression.remove_prefix(1);
  const auto line = find_line(lines, expression);
  if (!line) return not_judged(line.error().message, path);
  if ((*line > 0) != forbidden) return std::nullopt;
  const auto words = printable(expression, 80);
  return checks::failed(path,
                        forbidden ? fmt::format("line {} of {} matches \"{}\"", *line, path, words)
                                  : fmt::format("no line of {} matches \"{}\"", path, words),
                        Remedy::fix_config);
}

std::vector<std::string> content_files(const Arguments& arguments) {
  return whole_paths({std::string(argument(arguments, 0))});
}

Findings judge_file_contents(const Snapshot& snapshot, const Arguments& arguments) {
  const std::string path(argument(arguments, 0));
  const auto device = printable(path);
  const FileFact* file = file_at(snapshot, path);
  if (file == nullptr) return {not_judged(fmt::format("{} is not observed", device), device)};
  if (!file->exists && file->space.is_absent()) {
    return {checks::failed(device, fmt::format("{} is not there", device), Remedy::fix_config)};
  }
  if (!file->contents) return {not_judged(file->contents.why(), device)};
  const auto lines = lines_of(*file->contents);
  Findings undecided;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    auto finding = contradicts(device, lines, arguments[i]);
    if (!finding) continue;
    // One that does not hold decides, whatever the others are.
    if (finding->outcome == Outcome::fail) return {*std::move(finding)};
    undecided.push_back(*std::move(finding));
  }
  if (!undecided.empty()) return undecided;
  return {checks::passed(fmt::format("{} is as wanted", device), device)};
}

Row of_files(std::string_view name, Judge judge,
             std::vector<std::string> (*files_of)(const Arguments&), std::size_t least) {
  auto row = judged(name, judge, Probe::environment, least);
  row.files_of = files_of;
  return row;
}

}  // namespace

std::vector<Row> file_rows() {
  auto contents = of_files("check_file_contents", judge_file_contents, content_files, 2);
  contents.reads_files = true;
  return {of_files("check_file_test", judge_file_test, tested_files, 2), std::move(contents),
          of_files("check_file_stat", judge_file_stat, stat_files, 1)};
}

}  // namespace muster::nhc
