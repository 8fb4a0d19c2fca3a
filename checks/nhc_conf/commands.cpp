// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/commands.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "checks/nhc_conf/match.hpp"
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
  const auto text = options.values(letter).back();
  const auto seconds = parse_unsigned(text);
  if (seconds && *seconds > 0 && *seconds <= kMostSeconds) return std::chrono::seconds(*seconds);
  return make_error(fmt::format("-{} expects seconds, got \"{}\"", letter, printable(text, 40)));
}

Result<int> parse_status(const Options& options) {
  constexpr std::uint64_t kMost = 255;
  if (!options.has('r') || options.values('r').back().empty()) return 0;
  const auto text = options.values('r').back();
  const auto status = parse_unsigned(text);
  if (status && *status <= kMost) return static_cast<int>(*status);
  return make_error(fmt::format("-r expects an exit status, got \"{}\"", printable(text, 40)));
}

// `usual`: the command of a check that has one of its own.
Result<Wish> wish_of(const Arguments& arguments, std::string_view known, std::string_view usual) {
  auto options = read_options(arguments, known);
  if (!options) return tl::unexpected(options.error());
  const auto status = parse_status(*options);
  const auto deadline = parse_deadline(*options, 't');
  if (!status) return tl::unexpected(status.error());
  if (!deadline) return tl::unexpected(deadline.error());
  Wish wish{.command = {.words = std::move(options->rest), .deadline = *deadline},
            .status = *status,
            .matches = options->values('m')};
  const auto text = options->has('e') ? options->values('e').back() : std::string(usual);
  if (!text.empty()) {
    const auto words = split_words(text);
    wish.command.words.assign(words.begin(), words.end());
  }
  if (wish.command.words.empty()) return make_error("no command is named");
  return wish;
}

Result<Wish> status_wish(const Arguments& arguments) { return wish_of(arguments, "C:r:t:", ""); }

Result<Wish> output_wish(const Arguments& arguments) {
  return wish_of(arguments, "C:M:O:e:m:r:t:", "");
}

Result<Wish> dmesg_wish(const Arguments& arguments) {
  return wish_of(arguments, "M:e:m:r:t:", "dmesg");
}

// One for each target.
Result<std::vector<PlannedCommand>> pings(const Arguments& arguments) {
  auto options = read_options(arguments, "I:W:c:i:s:t:w:");
  if (!options) return tl::unexpected(options.error());
  if (options->rest.empty()) return make_error("no target is named");
  options->given.try_emplace('t', std::vector<std::string>{"2"});
  options->given.try_emplace('c', std::vector<std::string>{"1"});
  options->given.try_emplace('w', std::vector<std::string>{"1"});
  std::vector<std::string> words{"ping", "-q", "-n"};
  for (const char letter : std::string_view("IistcwW")) {
    if (!options->has(letter) || options->values(letter).back().empty()) continue;
    words.push_back(fmt::format("-{}", letter));
    words.push_back(options->values(letter).back());
  }
  // ping ends by itself at its own deadline.
  auto own = *options;
  if (own.values('w').back().empty()) own.given.erase('w');
  const auto deadline = parse_deadline(own, 'w');
  if (!deadline) return tl::unexpected(deadline.error());
  constexpr std::chrono::seconds kMargin{2};
  std::vector<PlannedCommand> commands;
  for (const auto& target : options->rest) {
    auto& command = commands.emplace_back();
    command.words = words;
    command.words.push_back(target);
    command.deadline = *deadline + kMargin;
  }
  return commands;
}

using Plan = Result<std::vector<PlannedCommand>> (*)(const Arguments&);

template <Result<Wish> (*Read)(const Arguments&)>
Result<std::vector<PlannedCommand>> plan(const Arguments& arguments) {
  auto wish = Read(arguments);
  if (!wish) return tl::unexpected(wish.error());
  return std::vector<PlannedCommand>{std::move(wish->command)};
}

// Null for a check that runs none.
Plan plan_of(std::string_view check) {
  if (check == "check_cmd_status") return plan<status_wish>;
  if (check == "check_cmd_output") return plan<output_wish>;
  if (check == "check_cmd_dmesg") return plan<dmesg_wish>;
  return check == "check_net_ping" ? pings : nullptr;
}

std::string shown(const std::vector<std::string>& words) {
  return printable(fmt::format("{}", fmt::join(words, " ")), kLongestCommand);
}

Finding failed(std::string message) {
  return {.device = std::string(checks::kNode),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = Remedy::fix_config};
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
    return tl::unexpected(failed(fmt::format(
        "\"{}\" did not end within {} s", shown(command.words), command.deadline.count() / 1000)));
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
                              negated ? "forbids" : "does not match",
                              shown(fact.words)));
  }
  return std::nullopt;
}

Findings judge_wish(const Snapshot& snapshot, const Result<Wish>& wish) {
  if (!wish) return {not_judged(wish.error().message)};
  const auto fact = ran(snapshot, wish->command);
  if (!fact) return {fact.error()};
  if (auto finding = contradiction(**fact, *wish, true)) return {*std::move(finding)};
  const int status = *(*fact)->status;
  if (status != wish->status) {
    return {failed(fmt::format(
        "\"{}\" ended with status {}, expected {}", shown((*fact)->words), status, wish->status))};
  }
  if (auto finding = contradiction(**fact, *wish, false)) return {*std::move(finding)};
  return {checks::passed(fmt::format("\"{}\" ended as wanted", shown((*fact)->words)))};
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
    const auto plan = plan_of(line.check);
    if (plan == nullptr || !line.unresolved.empty()) continue;
    auto planned = plan(line.arguments);
    if (!planned) continue;
    for (auto& command : *planned) {
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
                             [](const CheckLine& line) { return plan_of(line.check) != nullptr; });
}

Findings judge_cmd_status(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_wish(snapshot, status_wish(arguments));
}

Findings judge_cmd_output(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_wish(snapshot, output_wish(arguments));
}

Findings judge_cmd_dmesg(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_wish(snapshot, dmesg_wish(arguments));
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
      auto finding = failed(fmt::format("no answer from {} to ping", printable(target, 80)));
      finding.remedy = Remedy::watch;
      findings.push_back(std::move(finding));
    }
  }
  if (findings.empty()) {
    findings.push_back(
        checks::passed(fmt::format("{} to ping", checks::counted(commands->size(), "answer"))));
  }
  return findings;
}

}  // namespace muster::nhc
