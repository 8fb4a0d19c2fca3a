// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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
#include "checks/app/option_table.hpp"
#include "lib/base/text.hpp"
#include "lib/command/command_line.hpp"
#include "lib/command/version.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::app {
namespace {

using Words = std::vector<std::string>;

struct Rule {
  bool broken;
  std::string_view why;
};

// An error where a rule is broken: the first that is.
Result<void> judge_usage(std::initializer_list<Rule> rules) {
  const auto* const broken = std::ranges::find_if(rules, &Rule::broken);
  if (broken == rules.end()) return {};
  return make_error(std::string(broken->why));
}

Result<void> finish(CheckCommand& command, const Words& /*words*/) {
  const bool by_lines = !command.nhc_conf.empty();
  const bool recorded = !command.snapshots.empty();
  return judge_usage({
      {command.verbose && command.quiet, "-v and -q exclude each other"},
      {by_lines && !(command.only.empty() && command.skip.empty()),
       "--nhc-conf says which checks run, and goes with neither --only nor --skip"},
      // Benchmarks run on this machine, and need a line that asks for one.
      {command.active && !by_lines, "--active runs the benchmarks of --nhc-conf, which is missing"},
      {command.active && recorded,
       "--active runs benchmarks, and on a snapshot nothing can be run"},
      {command.active && command.root != "/",
       "--active runs benchmarks on this node, and --root names another"},
      {recorded && !command.save_snapshot.empty(),
       "--save-snapshot keeps what is observed, and --snapshot observes nothing"},
      {recorded && !command.nvml.empty(),
       "--nvml is for a node that is observed; a snapshot carries its own GPUs"},
      {recorded && !command.state.empty(),
       "--state is for a node that is observed; a snapshot carries its own"},
      {std::ranges::count(command.snapshots, "-") > 1,
       "--snapshot: standard input can be read once"},
  });
}

Result<void> finish(ExplainCommand& command, const Words& words) {
  if (words.size() != 1) return make_error("expects one check, as muster explain host.memory");
  command.check = words.front();
  return {};
}

Result<void> finish(ProfilesCommand& command, const Words& words) {
  const auto without_settings = [&]() -> Result<void> {
    if (command.settings.empty() && !command.changed) return {};
    return make_error("--set and --changed go with show NAME");
  };
  if (!words.empty() && words.front() == "make") {
    if (words.size() < 2) return make_error("make expects a name, as muster profiles make trainer");
    command.make = words[1];
    command.snapshots.assign(words.begin() + 2, words.end());
    return without_settings();
  }
  if (!command.output.empty() || !command.nvml.empty()) {
    return make_error("--output and --nvml go with make NAME");
  }
  if (words.empty()) return without_settings();
  if (words.front() == "export") {
    if (words.size() != 2)
      return make_error("export expects one folder, as muster profiles export .");
    command.export_to = words.back();
    return without_settings();
  }
  if (words.front() != "show") {
    return make_error(fmt::format(
        "expects show NAME, export DIR, make NAME or nothing, got \"{}\"{}",
        printable(words.front(), 80), suggestion(words.front(), {"show", "export", "make"})));
  }
  if (words.size() != 2)
    return make_error("show expects one profile, as muster profiles show generic");
  command.show = words.back();
  return {};
}

Result<void> finish(HookCommand& command, const Words& words) {
  constexpr std::string_view kWhen = "prolog|epilog|periodic|boot";
  if (command.check_setup) {
    if (words.empty() && !command.dry_run) return {};
    return make_error("--check-setup does nothing, and goes with neither a context nor --dry-run");
  }
  if (words.size() != 1) {
    return make_error(fmt::format("expects one of {}, or --check-setup", kWhen));
  }
  if (const auto known = take_choice(kWhen, words.front()); !known) {
    return tl::unexpected(known.error());
  }
  command.context = words.front();
  return {};
}

Result<void> take_some_hosts(std::vector<std::string>& nodes, const Words& words) {
  if (words.empty()) return make_error("expects nodes, as gpu-[001-004]");
  return put(nodes, hosts_of_words(words));
}

Result<void> finish(DrainCommand& command, const Words& words) {
  if (!command.report.empty()) {
    if (words.empty() && command.reason.empty()) return {};
    return make_error("--report tells which nodes and why, and goes with neither");
  }
  if (trim(command.reason).empty()) return make_error("--reason is missing: say why");
  return take_some_hosts(command.nodes, words);
}

Result<void> finish(ResumeCommand& command, const Words& words) {
  if (!command.check.empty()) return put(command.nodes, hosts_of_words(words));
  return take_some_hosts(command.nodes, words);
}

Result<void> finish(SweepCommand& command, const Words& /*words*/) {
  return judge_usage(
      {{command.status && command.dry_run, "--status does nothing, and needs no --dry-run"}});
}

Result<void> finish(HostfileCommand& command, const Words& words) {
  if (!words.empty() && !command.partition.empty()) {
    return make_error("a list and --partition exclude each other");
  }
  return put(command.nodes, hosts_of_words(words));
}

// Of the other commands the words are nodes, where they take any.
template <class Command>
Result<void> finish(Command& command, const Words& words) {
  if constexpr (requires { command.nodes; }) return put(command.nodes, hosts_of_words(words));
  return {};
}

template <class Command>
Result<Invocation> parse_command(const CommandText& text, Words arguments) {
  Command command;
  const auto line =
      take_line(std::move(arguments), text, takers_for<Command>(command, options_of<Command>()));
  if (!line) return tl::unexpected(line.error());
  if (line->help) return SayCommand{command_help(text)};
  if (auto finished = finish(command, line->words); !finished) {
    return tl::unexpected(finished.error());
  }
  return command;
}

struct CommandParser {
  std::string_view name;
  Result<Invocation> (*parse)(const CommandText& text, Words arguments);
};

template <class... Command>
constexpr auto parsers_of(const std::variant<SayCommand, Command...>* /*all of them*/) {
  return std::array{CommandParser{Command::kName, parse_command<Command>}...};
}

// Null where no command is called so.
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
  if (left.empty()) return make_error("expects a command");
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

// `muster help`, `muster help check`: what people try first.
Result<Invocation> answer_help(const Words& words) {
  if (words.empty()) return SayCommand{overview_help()};
  if (parser_of(words.front()) == nullptr) return refuse_command(words);
  return SayCommand{command_help(text_of(words.front()))};
}

// A usage error says where to read on.
Result<Invocation> with_hint(Result<Invocation> result, std::string_view command) {
  if (result) return result;
  const auto* space = command.empty() ? "" : " ";
  return make_error(fmt::format("{}{}{} (muster{}{} --help says more)", command,
                                command.empty() ? "" : ": ", result.error().message, space,
                                command));
}

// A line that begins with no command.
Result<Invocation> parse_other(const Words& words) {
  if (words.empty()) return refuse_command({});
  const auto& first = words.front();
  if (first == "--version") return SayCommand{fmt::format("muster {}\n", kVersion)};
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
