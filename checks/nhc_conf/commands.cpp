// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/commands.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "checks/nhc_conf/match.hpp"
#include "checks/nhc_conf/options.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

constexpr std::size_t kLongestCommand = 100;

// What a line wants of its command.
struct Wish {
  PlannedCommand command;
  int status = 0;
  std::vector<std::string> matches;
};

Result<std::chrono::milliseconds> parse_deadline(const Options& options, char letter) {
  constexpr std::uint64_t kMostSeconds = 3600;
  constexpr std::chrono::seconds kUsual{5};
  if (!options.has(letter)) return kUsual;
  const auto text = options.value(letter);
  const auto seconds = parse_unsigned(text);
  if (seconds && *seconds > 0 && *seconds <= kMostSeconds) return std::chrono::seconds(*seconds);
  return make_error(fmt::format("-{} expects seconds, got \"{}\"", letter, printable(text, 40)));
}

Result<int> parse_status(const Options& options) {
  constexpr std::uint64_t kMost = 255;
  const auto text = options.value('r');
  if (text.empty()) return 0;
  const auto status = parse_unsigned(text);
  if (status && *status <= kMost) return static_cast<int>(*status);
  return make_error(fmt::format("-r expects an exit status, got \"{}\"", printable(text, 40)));
}

// `usual`: the command of a check that has one of its own.
Result<Wish> wish_of(const Arguments& arguments, std::string_view known, std::string_view usual) {
  TRY_ASSIGN(auto options, read_options(arguments, known));
  const auto status = parse_status(options);
  const auto deadline = parse_deadline(options, 't');
  if (!status) return tl::unexpected(status.error());
  if (!deadline) return tl::unexpected(deadline.error());
  Wish wish{.command = {.words = std::move(options.rest), .deadline = *deadline},
            .status = *status,
            .matches = options.values('m')};
  const auto text = options.has('e') ? options.value('e') : std::string(usual);
  if (!text.empty()) {
    const auto words = split_words(text);
    wish.command.words.assign(words.begin(), words.end());
  }
  if (wish.command.words.empty()) return make_error("no command is named");
  return wish;
}

// One for each target.
Result<std::vector<PlannedCommand>> pings(const Arguments& arguments) {
  TRY_ASSIGN(auto options, read_options(arguments, "I:W:c:i:s:t:w:"));
  if (options.rest.empty()) return make_error("no target is named");
  options.given.try_emplace('t', std::vector<std::string>{"2"});
  options.given.try_emplace('c', std::vector<std::string>{"1"});
  options.given.try_emplace('w', std::vector<std::string>{"1"});
  std::vector<std::string> words{"ping", "-q", "-n"};
  for (const char letter : std::string_view("IistcwW")) {
    auto value = options.value(letter);
    if (value.empty()) continue;
    words.push_back(fmt::format("-{}", letter));
    words.push_back(std::move(value));
  }
  // ping ends by itself at its own deadline.
  auto own = options;
  if (own.value('w').empty()) own.given.erase('w');
  TRY_ASSIGN(const auto deadline, parse_deadline(own, 'w'));
  constexpr std::chrono::seconds kMargin{2};
  std::vector<PlannedCommand> commands;
  for (const auto& target : options.rest) {
    auto& command = commands.emplace_back();
    command.words = words;
    command.words.push_back(target);
    command.deadline = deadline + kMargin;
  }
  return commands;
}

// The checks that run one command: which options each takes, and the command where none is named.
struct Runs {
  std::string_view check, options, usual;
};

constexpr Runs kStatus{"check_cmd_status", "C:r:t:", ""};
constexpr Runs kOutput{"check_cmd_output", "C:M:O:e:m:r:t:", ""};
constexpr Runs kDmesg{"check_cmd_dmesg", "M:e:m:r:t:", "dmesg"};
constexpr std::string_view kPing = "check_net_ping";

// What a line asks to be run; nothing where its check runs no command.
std::optional<Result<std::vector<PlannedCommand>>> plan_of(const CheckLine& line) {
  if (line.check == kPing) return pings(line.arguments);
  for (const auto& runs : {kStatus, kOutput, kDmesg}) {
    if (line.check != runs.check) continue;
    TRY_ASSIGN(auto wish, wish_of(line.arguments, runs.options, runs.usual));
    return std::vector<PlannedCommand>{std::move(wish.command)};
  }
  return std::nullopt;
}

std::string shown(const std::vector<std::string>& words) {
  return printable(fmt::format("{}", fmt::join(words, " ")), kLongestCommand);
}

// The command as it was run, or what to say where it was not.
tl::expected<const CommandFact*, Finding> ran(const Snapshot& snapshot,
                                              const PlannedCommand& command) {
  const auto& all = snapshot.environment->commands;
  const auto found = std::ranges::find(all, command.words, &CommandFact::words);
  if (found == all.end()) {
    return tl::unexpected(not_judged(fmt::format("\"{}\" was not run", shown(command.words))));
  }
  if (found->timed_out) {
    return tl::unexpected(failed(fmt::format("\"{}\" did not end within {} s", shown(command.words),
                                             command.deadline.count() / 1000)));
  }
  if (!found->status) return tl::unexpected(not_judged(found->status.why()));
  return &*found;
}

// The lines as NHC's loop sees them: without empty ones, but with one behind the last.
std::vector<std::string_view> output_lines(const std::string& output) {
  auto lines = split_lines(output);
  std::erase_if(lines, [](std::string_view line) { return line.empty(); });
  lines.emplace_back();
  return lines;
}

Result<bool> is_in(const std::vector<std::string_view>& lines, std::string_view expression) {
  for (const auto line : lines) {
    const auto found = matches(expression, line);
    if (!found || *found) return found;
  }
  return false;
}

// What contradicts the line's match strings; nothing where all hold. `negated`: of those only.
std::optional<Finding> contradiction(const CommandFact& fact, const Wish& wish, bool negated) {
  if (wish.matches.empty()) return std::nullopt;
  if (!fact.output) return not_judged(fact.output.why());
  const auto lines = output_lines(*fact.output);
  for (const auto& expression : wish.matches) {
    if (expression.starts_with('!') != negated) continue;
    const auto found = is_in(lines, std::string_view(expression).substr(negated ? 1 : 0));
    if (!found) return not_judged(found.error().message);
    if (*found != negated) continue;
    return failed(fmt::format("\"{}\" {} what \"{}\" printed",
                              printable(expression, kLongestCommand),
                              negated ? "forbids" : "does not match", shown(fact.words)));
  }
  return std::nullopt;
}

template <const Runs& kRuns>
Findings judge_command(const Snapshot& snapshot, const Arguments& arguments) {
  const auto wish = wish_of(arguments, kRuns.options, kRuns.usual);
  if (!wish) return {not_judged(wish.error().message)};
  const auto fact = ran(snapshot, wish->command);
  if (!fact) return {fact.error()};
  if (auto finding = contradiction(**fact, *wish, true)) return {*std::move(finding)};
  const int status = *(*fact)->status;
  if (status != wish->status) {
    return {failed(fmt::format("\"{}\" ended with status {}, expected {}", shown((*fact)->words),
                               status, wish->status))};
  }
  if (auto finding = contradiction(**fact, *wish, false)) return {*std::move(finding)};
  return {checks::passed(fmt::format("\"{}\" ended as wanted", shown((*fact)->words)))};
}

Findings judge_ping(const Snapshot& snapshot, const Arguments& arguments) {
  const auto commands = pings(arguments);
  if (!commands) return {not_judged(commands.error().message)};
  Findings findings;
  for (const auto& command : *commands) {
    const auto& target = command.words.back();
    const auto fact = ran(snapshot, command);
    if (!fact && fact.error().outcome == Outcome::unknown) {
      findings.push_back(fact.error());
    } else if (!fact || *(*fact)->status != 0) {
      findings.push_back(
          failed(fmt::format("no answer from {} to ping", printable(target, 80)), Remedy::watch));
    }
  }
  return checks::or_pass(std::move(findings),
                         fmt::format("{} to ping", checks::counted(commands->size(), "answer")));
}

}  // namespace

BrokenRule check_rules(const SiteRules& rules) {
  for (const auto& command : rules.commands) {
    if (command.starts_with('/')) continue;
    return {.key = "commands",
            .what = fmt::format("names programs by their path, as /usr/bin/NAME; \"{}\" does not",
                                printable(command, kLongestCommand))};
  }
  return {};
}

std::vector<PlannedCommand> commands_on(const Config& config, std::string_view node) {
  std::vector<PlannedCommand> commands;
  for (const auto& line : check_lines_on(config, node)) {
    if (!line.unresolved.empty()) continue;
    auto planned = plan_of(line);
    if (!planned || !*planned) continue;
    for (auto& command : **planned) {
      const auto same = std::ranges::find(commands, command.words, &PlannedCommand::words);
      if (same == commands.end()) {
        commands.push_back(std::move(command));
      } else {
        same->deadline = std::max(same->deadline, command.deadline);
      }
    }
  }
  return commands;
}

bool names_commands(const Config& config) {
  return std::ranges::any_of(all_check_lines(config),
                             [](const CheckLine& line) { return plan_of(line).has_value(); });
}

std::vector<Row> command_rows() {
  return {
      judged(kPing, judge_ping, Probe::environment, 1),
      judged(kOutput.check, judge_command<kOutput>, Probe::environment, 1),
      judged(kStatus.check, judge_command<kStatus>, Probe::environment, 1),
      judged(kDmesg.check, judge_command<kDmesg>, Probe::environment, 0),
  };
}

}  // namespace muster::nhc
