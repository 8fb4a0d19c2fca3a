// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/base/text.hpp"
#include "lib/command/options.hpp"
#include "lib/command/version.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::app {
namespace {

using Words = std::vector<std::string>;

struct UsageRule {
  bool broken;
  std::string_view message;
};

// Returns the message of the first broken rule as an error.
Result<void> check_usage(std::initializer_list<UsageRule> rules) {
  const auto* const broken = std::ranges::find_if(rules, &UsageRule::broken);
  if (broken == rules.end()) return {};
  return make_error(std::string(broken->message));
}

Result<void> finish(CheckCommand& command, const Words& /*words*/) {
  const bool by_lines = !command.nhc_conf.empty();
  const bool replay = !command.snapshots.empty();
  return check_usage({
      {command.verbose && command.quiet, "-v and -q exclude each other"},
      {by_lines && !(command.only.empty() && command.skip.empty()),
       "--nhc-conf selects the checks, and excludes --only and --skip"},
      {command.active && !by_lines, "--active needs --nhc-conf, whose benchmarks it runs"},
      {command.active && replay, "--active runs benchmarks on this node, and excludes --snapshot"},
      {command.active && command.root != "/",
       "--active runs benchmarks on this node, and excludes --root"},
      {command.active && command.host,
       "--active runs benchmarks in this container, and excludes --host"},
      {command.host && command.root != "/", "--host and --root exclude each other"},
      {replay && command.host, "--snapshot observes nothing, and excludes --host"},
      {replay && !command.save_snapshot.empty(),
       "--snapshot observes nothing, and excludes --save-snapshot"},
      {replay && !command.nvml.empty(), "--snapshot observes no GPUs, and excludes --nvml"},
      {replay && !command.state.empty(), "--snapshot has its own state, and excludes --state"},
      {std::ranges::count(command.snapshots, "-") > 1,
       "--snapshot: standard input can be read only once"},
  });
}

Result<void> finish(SnapshotCommand& command, const Words& /*words*/) {
  return check_usage(
      {{command.host && command.root != "/", "--host and --root exclude each other"}});
}

Result<void> finish(ExplainCommand& command, const Words& words) {
  if (words.size() != 1)
    return make_error("expected one check, such as muster explain host.memory");
  command.check = words.front();
  return {};
}

Result<void> finish(ProfilesCommand& command, const Words& words) {
  const auto without_settings = [&]() -> Result<void> {
    if (command.settings.empty() && !command.changed) return {};
    return make_error("--set and --changed need show NAME");
  };
  if (!words.empty() && words.front() == "make") {
    if (words.size() < 2)
      return make_error("make: expected a name, such as muster profiles make trainer");
    command.make = words[1];
    command.snapshots.assign(words.begin() + 2, words.end());
    return without_settings();
  }
  if (!command.output.empty() || !command.nvml.empty()) {
    return make_error("--output and --nvml need make NAME");
  }
  if (words.empty()) return without_settings();
  if (words.front() == "export") {
    if (words.size() != 2)
      return make_error("export: expected one folder, such as muster profiles export .");
    command.export_to = words.back();
    return without_settings();
  }
  if (words.front() != "show") {
    return make_error(fmt::format(
        "unexpected word \"{}\", expected show NAME, export DIR or make NAME{}",
        printable(words.front(), 80), suggestion(words.front(), {"show", "export", "make"})));
  }
  if (words.size() != 2)
    return make_error("show: expected one profile, such as muster profiles show generic");
  command.show = words.back();
  return {};
}

Result<void> finish(HookCommand& command, const Words& words) {
  constexpr std::string_view kWhen = "prolog|epilog|periodic|boot";
  if (command.check_setup) {
    if (words.empty() && !command.dry_run) return {};
    return make_error("--check-setup changes nothing, and excludes a context and --dry-run");
  }
  if (words.size() != 1) {
    return make_error(fmt::format("expected one of {}, or --check-setup", kWhen));
  }
  TRY(take_choice(kWhen, words.front()));
  command.context = words.front();
  return {};
}

Result<void> take_hosts(std::vector<std::string>& nodes, const Words& words) {
  if (words.empty()) return make_error("expected nodes, such as gpu-[001-004]");
  return put(nodes, hosts_of_words(words));
}

Result<void> finish(DrainCommand& command, const Words& words) {
  if (!command.report.empty()) {
    if (words.empty() && command.reason.empty()) return {};
    return make_error("--report names nodes and reasons, and excludes both");
  }
  if (trim(command.reason).empty()) return make_error("--reason is missing");
  return take_hosts(command.nodes, words);
}

Result<void> finish(ResumeCommand& command, const Words& words) {
  if (!command.check.empty()) return put(command.nodes, hosts_of_words(words));
  return take_hosts(command.nodes, words);
}

Result<void> finish(SweepCommand& command, const Words& /*words*/) {
  return check_usage(
      {{command.status && command.dry_run, "--status changes nothing, and excludes --dry-run"}});
}

Result<void> finish(AcceptCommand& command, const Words& words) {
  command.words = words;
  const auto given = [](const std::string& text) { return text.empty() ? 0 : 1; };
  const int tasks = given(command.retest) + given(command.withdraw) + given(command.go_on) +
                    (command.status ? 1 : 0) + (command.page ? 1 : 0) + (command.dry_run ? 1 : 0);
  if (!command.step.empty() || command.sim == "help") return {};
  return check_usage({
      {tasks > 1,
       "--status, --page, --dry-run, --retest, --withdraw and --go-on exclude each other"},
      {command.run.empty() && !command.dry_run, "--run is missing, the folder of the run"},
      {command.dry_run && words.empty(), "expected nodes, such as gpu-[001-128]"},
      {command.withdraw.empty() != command.why.empty() && command.go_on.empty() &&
           command.retest.empty(),
       "--withdraw and --why need each other"},
      {!command.sim.empty() && command.by != "sim", "--sim needs --by sim"},
  });
}

Result<void> finish(FleetCommand& command, const Words& words) {
  constexpr std::array kWithoutWords{"show", "prune", "odd", "drift", "causes", "whatif"};
  const auto questions = fleet_questions();
  command.question = words.empty() ? "show" : words.front();
  if (!words.empty()) command.words.assign(words.begin() + 1, words.end());
  if (std::ranges::find(questions, command.question) == questions.end()) {
    return make_error(fmt::format("unknown word \"{}\", expected {}{}",
                                  printable(command.question, 80), fmt::join(questions, ", "),
                                  suggestion(command.question, questions)));
  }
  const auto given = command.words.size();
  return check_usage({
      {command.question == "add" && given == 0 && !command.slurm,
       "add: expected files, folders, - or --slurm"},
      {command.question == "part" && given != 1, "part: expected one serial number or node"},
      {command.question == "export" &&
           !(given == 1 && (command.words[0] == "sql" || command.words[0] == "jsonl")),
       "export: expected sql or jsonl"},
      {command.question == "diff" && given != 2,
       "diff: expected two dates, NODES@DATE or ids of acceptances"},
      {command.question == "whatif" && command.settings.empty(),
       "whatif: expected --set KEY=VALUE"},
      {std::ranges::count(kWithoutWords, command.question) > 0 && given > 0,
       "unexpected words; only add, part, export and diff take some"},
      {command.form == FleetCommand::Form::html && command.question != "show",
       "--format html is the page of show"},
      {std::ranges::count(command.words, "-") > 1, "standard input can be read only once"},
  });
}

Result<void> finish(RepairCommand& command, const Words& words) {
  TRY(put(command.nodes, hosts_of_words(words)));
  const auto outcome = command.resolve.find('=');
  const bool resolves = !command.resolve.empty();
  if (resolves && outcome != std::string::npos) {
    TRY(take_choice("succeeded|failed|cancelled", command.resolve.substr(outcome + 1)));
  }
  return check_usage({
      {command.go && command.shadow, "--go and --shadow exclude each other"},
      {command.go && words.empty(), "--go: expected nodes, such as gpu-007"},
      {resolves && outcome == std::string::npos,
       "--resolve: expected ID=succeeded, failed or cancelled"},
      {resolves && (command.go || command.shadow || !words.empty()),
       "--resolve takes no nodes, and excludes --go and --shadow"},
  });
}

Result<void> finish(ClaimCommand& command, const Words& words) {
  TRY(put(command.nodes, hosts_of_words(words)));
  if (!command.provider.empty()) {
    TRY(take_choice("azure|gcp|oci|aws|text", command.provider));
  }
  return check_usage({
      {words.empty() && command.run.empty() && !command.poll,
       "expected nodes, such as gpu-007, or --run DIR"},
      {command.poll && (command.send || !command.run.empty()), "--poll excludes --send and --run"},
      {!command.vm_id.empty() && command.nodes.size() != 1, "--vm-id: expected one node"},
      {std::ranges::count(command.reports, "-") > 1, "standard input can be read only once"},
  });
}

Result<void> finish(HostfileCommand& command, const Words& words) {
  if (!words.empty() && !command.partition.empty()) {
    return make_error("a list and --partition exclude each other");
  }
  return put(command.nodes, hosts_of_words(words));
}

// The words of the other commands are nodes, if they take any.
template <class Command>
Result<void> finish(Command& command, const Words& words) {
  if constexpr (requires { command.nodes; }) return put(command.nodes, hosts_of_words(words));
  return {};
}

template <class Command>
Result<Invocation> parse_command(const CommandText& text, Words arguments) {
  Command command;
  TRY_ASSIGN(const auto line, take_line(std::move(arguments), text,
                                        takers_for<Command>(command, options_of<Command>())));
  if (line.help) return PrintCommand{command_help(text)};
  TRY(finish(command, line.words));
  return command;
}

struct CommandParser {
  std::string_view name;
  Result<Invocation> (*parse)(const CommandText& text, Words arguments);
};

template <class... Command>
constexpr auto parsers_of(const std::variant<PrintCommand, Command...>* /*all of them*/) {
  return std::array{CommandParser{Command::kName, parse_command<Command>}...};
}

// Returns null for an unknown command.
const CommandParser* parser_of(std::string_view name) {
  static constexpr auto kParsers = parsers_of(static_cast<const Invocation*>(nullptr));
  const auto* const found = std::ranges::find(kParsers, name, &CommandParser::name);
  return found == kParsers.end() ? nullptr : found;
}

CommandText text_of(std::string_view name) {
  const auto texts = command_texts();
  return *std::ranges::find(texts, name, &CommandText::name);
}

constexpr std::string_view kHelp = "help";

Result<Invocation> refuse_command(const Words& left) {
  if (left.empty()) return make_error("expected a command");
  const auto& word = left.front();
  if (word.starts_with('-')) {
    return make_error(fmt::format("unknown option {}{}", printable(word, 80),
                                  suggestion(word, {"--help", "--version"})));
  }
  Words names{std::string(kHelp)};
  for (const auto& command : command_texts()) names.emplace_back(command.name);
  return make_error(
      fmt::format("unknown command {}{}", printable(word, 80), suggestion(word, names)));
}

// `muster help`, `muster help check`.
Result<Invocation> answer_help(const Words& words) {
  if (words.empty()) return PrintCommand{overview_help()};
  if (parser_of(words.front()) == nullptr) return refuse_command(words);
  return PrintCommand{command_help(text_of(words.front()))};
}

// Adds the command and its --help to a usage error.
Result<Invocation> with_hint(Result<Invocation> result, std::string_view command) {
  if (result) return result;
  const auto* space = command.empty() ? "" : " ";
  return make_error(fmt::format("{}{}{} (see muster{}{} --help)", command,
                                command.empty() ? "" : ": ", result.error().message, space,
                                command));
}

// A line that does not begin with a command.
Result<Invocation> parse_other(const Words& words) {
  if (words.empty()) return refuse_command({});
  const auto& first = words.front();
  if (first == "--version") return PrintCommand{fmt::format("muster {}\n", kVersion)};
  if (first == kHelp || first == "--help" || first == "-h") {
    return answer_help({words.begin() + 1, words.end()});
  }
  return refuse_command(words);
}

}  // namespace

Result<Invocation> parse(std::span<const char* const> arguments) {
  const Words words(arguments.begin(), arguments.end());
  const auto* const parser = words.empty() ? nullptr : parser_of(words.front());
  if (parser == nullptr) return with_hint(parse_other(words), "");
  return with_hint(parser->parse(text_of(parser->name), {words.begin() + 1, words.end()}),
                   parser->name);
}

}  // namespace muster::app
