// SPDX-License-Identifier: Apache-2.0
#include "checks/app/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "checks/app/option_table.hpp"
#include "lib/base/text.hpp"
#include "lib/command/command_line.hpp"
#include "lib/command/version.hpp"
#include "slurm/hostlist.hpp"

namespace muster::app {
namespace {

using Words = std::vector<std::string>;

template <class Command>
class Subcommand {
 public:
  Subcommand(CLI::App& app, const CommandText& text)
      : line_(*app.add_subcommand(std::string(text.name)), text, options_of<Command>()) {}

  [[nodiscard]] bool chosen() const { return line_.chosen(); }

  void take_words(Words& words) { line_.take_words(words); }

  [[nodiscard]] Result<Invocation> result(
      const std::function<Result<void>(Command&)>& finish) const {
    if (line_.help()) return SayCommand{command_help(line_.text())};
    auto command = line_.result();
    if (!command) return tl::unexpected(command.error());
    if (auto finished = finish(*command); !finished) return tl::unexpected(finished.error());
    return *std::move(command);
  }

 private:
  CommandLine<Command> line_;
};

Result<void> finish_check(const CheckCommand& command) {
  if (command.verbose && command.quiet) return make_error("-v and -q exclude each other");
  if (!command.nhc_conf.empty() && !(command.only.empty() && command.skip.empty())) {
    return make_error("--nhc-conf says which checks run, and goes with neither --only nor --skip");
  }
  if (command.snapshots.empty()) return {};
  if (!command.save_snapshot.empty()) {
    return make_error("--save-snapshot keeps what is observed, and --snapshot observes nothing");
  }
  if (!command.nvml.empty()) {
    return make_error("--nvml is for a node that is observed; a snapshot carries its own GPUs");
  }
  if (!command.state.empty()) {
    return make_error("--state is for a node that is observed; a snapshot carries its own");
  }
  if (std::ranges::count(command.snapshots, "-") > 1) {
    return make_error("--snapshot: standard input can be read once");
  }
  return {};
}

Result<void> finish_explain(ExplainCommand& command, const Words& words) {
  if (words.size() != 1) return make_error("expects one check, as muster explain host.memory");
  command.check = words.front();
  return {};
}

Result<void> finish_profiles(ProfilesCommand& command, const Words& words) {
  if (words.empty()) {
    if (command.settings.empty()) return {};
    return make_error("--set goes with show NAME");
  }
  if (words.front() != "show") {
    return make_error(
        fmt::format("expects show NAME or nothing, got \"{}\"", printable(words.front(), 80)));
  }
  if (words.size() != 2)
    return make_error("show expects one profile, as muster profiles show generic");
  command.show = words.back();
  return {};
}

Result<void> finish_hook(HookCommand& command, const Words& words) {
  constexpr std::string_view kWhen = "prolog|epilog|periodic|boot";
  if (words.size() != 1) return make_error(fmt::format("expects one of {}", kWhen));
  if (const auto known = take_choice(kWhen, words.front()); !known) {
    return tl::unexpected(known.error());
  }
  command.context = words.front();
  return {};
}

// Lists of hosts, as Slurm writes them.
Result<void> take_hosts(std::vector<std::string>& nodes, const Words& words) {
  for (const auto& word : words) {
    auto names = slurm::expand_hostlist(word);
    if (!names) return tl::unexpected(names.error());
    nodes.insert(nodes.end(), names->begin(), names->end());
  }
  return {};
}

Result<void> take_some_hosts(std::vector<std::string>& nodes, const Words& words) {
  if (words.empty()) return make_error("expects nodes, as gpu-[001-004]");
  return take_hosts(nodes, words);
}

Result<void> finish_drain(DrainCommand& command, const Words& words) {
  if (trim(command.reason).empty()) return make_error("--reason is missing: say why");
  return take_some_hosts(command.nodes, words);
}

Result<void> finish_hostfile(HostfileCommand& command, const Words& words) {
  if (!words.empty() && !command.partition.empty()) {
    return make_error("a list and --partition exclude each other");
  }
  return take_hosts(command.nodes, words);
}

constexpr std::string_view kHelp = "help";

Result<Invocation> refuse_command(const Words& left) {
  if (left.empty()) return make_error("expects a command");
  const auto& word = left.front();
  if (word.starts_with('-')) {
    return make_error(fmt::format(
        "unknown option {}{}", printable(word, 80), suggestion(word, {"--help", "--version"})));
  }
  Words names{std::string(kHelp)};
  for (const auto& command : command_texts()) names.emplace_back(command.name);
  return make_error(
      fmt::format("unknown command {}{}", printable(word, 80), suggestion(word, names)));
}

// `muster help`, `muster help check`: what people try first.
Result<Invocation> answer_help(const Words& words) {
  if (words.empty()) return SayCommand{overview_help()};
  for (const auto& command : command_texts()) {
    if (command.name == words.front()) return SayCommand{command_help(command)};
  }
  return refuse_command(words);
}

// A usage error says where to read on.
Result<Invocation> with_hint(Result<Invocation> result, std::string_view command) {
  if (result) return result;
  const auto* space = command.empty() ? "" : " ";
  return make_error(fmt::format("{}{}{} (muster{}{} --help says more)",
                                command,
                                command.empty() ? "" : ": ",
                                result.error().message,
                                space,
                                command));
}

const CommandText& text_named(const std::vector<CommandText>& texts, std::string_view name) {
  return *std::ranges::find(texts, name, &CommandText::name);
}

Result<Invocation> parse_words(CLI::App& app, std::span<const char* const> arguments) {
  const auto texts = command_texts();
  Subcommand<CheckCommand> check(app, text_named(texts, "check"));
  Subcommand<SnapshotCommand> snapshot(app, text_named(texts, "snapshot"));
  Subcommand<ListCommand> list(app, text_named(texts, "list"));
  Subcommand<ExplainCommand> explain(app, text_named(texts, "explain"));
  Subcommand<ProfilesCommand> profiles(app, text_named(texts, "profiles"));
  Subcommand<HookCommand> hook(app, text_named(texts, "hook"));
  Subcommand<DrainCommand> drain(app, text_named(texts, "drain"));
  Subcommand<ResumeCommand> resume(app, text_named(texts, "resume"));
  Subcommand<HistoryCommand> history(app, text_named(texts, "history"));
  Subcommand<EventsCommand> events(app, text_named(texts, "events"));
  Subcommand<HostfileCommand> hostfile(app, text_named(texts, "hostfile"));
  Words words;
  explain.take_words(words);
  profiles.take_words(words);
  hook.take_words(words);
  drain.take_words(words);
  resume.take_words(words);
  history.take_words(words);
  events.take_words(words);
  hostfile.take_words(words);
  bool help = false;
  bool version = false;
  app.add_flag("-h,--help", help);
  app.add_flag("--version", version);

  if (!arguments.empty() && arguments.front() == kHelp) {
    return answer_help(Words(arguments.begin() + 1, arguments.end()));
  }
  app.parse(Words(arguments.rbegin(), arguments.rend()));

  if (const auto left = app.remaining(); !left.empty()) return refuse_command(left);
  const auto nothing = [](const auto& /*command*/) -> Result<void> { return {}; };
  if (check.chosen()) return check.result(finish_check);
  if (snapshot.chosen()) return snapshot.result(nothing);
  if (list.chosen()) return list.result(nothing);
  if (explain.chosen()) {
    return explain.result([&](ExplainCommand& command) { return finish_explain(command, words); });
  }
  if (profiles.chosen()) {
    return profiles.result(
        [&](ProfilesCommand& command) { return finish_profiles(command, words); });
  }
  if (hook.chosen()) {
    return hook.result([&](HookCommand& command) { return finish_hook(command, words); });
  }
  if (drain.chosen()) {
    return drain.result([&](DrainCommand& command) { return finish_drain(command, words); });
  }
  if (resume.chosen()) {
    return resume.result(
        [&](ResumeCommand& command) { return take_some_hosts(command.nodes, words); });
  }
  if (history.chosen()) {
    return history.result(
        [&](HistoryCommand& command) { return take_hosts(command.nodes, words); });
  }
  if (events.chosen()) {
    return events.result([&](EventsCommand& command) { return take_hosts(command.nodes, words); });
  }
  if (hostfile.chosen()) {
    return hostfile.result(
        [&](HostfileCommand& command) { return finish_hostfile(command, words); });
  }
  if (version) return SayCommand{fmt::format("muster {}\n", kVersion)};
  if (help) return SayCommand{overview_help()};
  return refuse_command({});
}

}  // namespace

Result<Invocation> parse(std::span<const char* const> arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.require_subcommand(0, 1);
  const std::string_view first = arguments.empty() ? "" : arguments.front();
  const auto texts = command_texts();
  const bool known = std::ranges::find(texts, first, &CommandText::name) != texts.end();
  const auto command = known ? first : std::string_view();
  try {
    return with_hint(parse_words(app, arguments), command);
  } catch (const CLI::Error& error) {
    return with_hint(make_error(printable(error.what())), command);
  }
}

}  // namespace muster::app
