// SPDX-License-Identifier: Apache-2.0
// Parses the command line, and prints the help of each command and of the program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "checks/app/commands.hpp"
#include "lib/base/host_name.hpp"
#include "lib/command/version.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::app {
namespace {

template <class Command>
CommandText help_of(std::string_view synopsis, std::string_view about,
                    std::string_view examples = {}) {
  return {.program = "muster",
          .name = Command::kName,
          .synopsis = synopsis,
          .about = about,
          .options = texts_of(options_of<Command>()),
          .examples = examples};
}

}  // namespace

std::vector<CommandText> command_texts() {
  return {
      help_of<CheckCommand>("[OPTION]...", "Check whether this node is fit for work",
                            "  muster check\n"
                            "  muster check --context prolog --format json\n"
                            "  muster check --only 'ib.*,gpu.nvlink_*' -v\n"
                            "  muster check --set host.disk.fail_above=95%\n"
                            "  muster check --snapshot snapshots/\n"),
      help_of<SnapshotCommand>("[OPTION]...",
                               "Print everything observed on this node, without judging it",
                               "  muster snapshot --output node.json\n"),
      help_of<ListCommand>("[OPTION]...", "List the checks"),
      help_of<ExplainCommand>("CHECK [OPTION]...",
                              "Explain a check: what it looks at, why, its limits and their origin",
                              "  muster explain gpu.xid\n"
                              "  muster explain ib.rate --profile nd96isr_h100_v5\n"),
      help_of<ProfilesCommand>(
          "[show NAME | export DIR | make NAME [SNAPSHOT]...] [OPTION]...",
          "List the profiles, show one with the origin of each value, export the shipped files, or "
          "make a profile from this node or from snapshots",
          "  muster profiles\n"
          "  muster profiles show nd96isr_h100_v5 --changed\n"
          "  muster profiles export /tmp/profiles\n"
          "  muster profiles make trainer snapshots/\n"),
      help_of<ValidateCommand>(
          "[OPTION]...", "Check the site's files in /etc/muster, and the files that they name",
          "  muster validate\n"
          "  muster validate --root /srv/image\n"),
      help_of<HookCommand>("prolog|epilog|periodic|boot|--check-setup [OPTION]...",
                           "Check this node for Slurm, and drain or resume it by the site's rules",
                           "  muster hook periodic --dry-run\n"
                           "  muster hook --check-setup\n"),
      help_of<DrainCommand>("HOSTLIST --reason TEXT | --report FILE [OPTION]...",
                            "Take nodes out of service until an admin resumes them",
                            "  muster drain gpu-[001-004] --reason 'swapping a switch'\n"
                            "  muster drain --report locate.json --dry-run\n"),
      help_of<ResumeCommand>("[HOSTLIST] [OPTION]...",
                             "Return nodes that muster drained to service",
                             "  muster resume gpu-0007\n"
                             "  muster resume --check ib.rate\n"),
      help_of<StatusCommand>("[HOSTLIST] [OPTION]...",
                             "Print which nodes muster drained, why, and until when"),
      help_of<HistoryCommand>("[HOSTLIST] [OPTION]...",
                              "Print when and why nodes were drained and resumed",
                              "  muster history gpu-0007 --since 30d\n"),
      help_of<EventsCommand>("[HOSTLIST] [OPTION]...",
                             "Print everything that muster did to nodes, and what it refused"),
      help_of<HostfileCommand>(
          "[HOSTLIST] [OPTION]...",
          "Print a host file for Open MPI, from a list, a partition or this job",
          "  muster hostfile gpu-[001-004] --slots 8 --output hosts\n"),
      help_of<SweepCommand>("[OPTION]...",
                            "Benchmark idle nodes in rotation; each call is one pass"),
      help_of<AgentCommand>("[OPTION]...",
                            "Check this node repeatedly, and publish the verdict as conditions "
                            "and events of its Kubernetes node",
                            "  muster agent --metrics /var/lib/node_exporter/muster.prom\n"),
      help_of<AcceptCommand>("[HOSTLIST | @FILE]... [OPTION]...",
                             "Test a delivery of nodes, from power-on to one page for the provider",
                             "  muster accept gpu-[001-128] --run delivery-7 --by ssh\n"
                             "  sbatch -N 128 --requeue --wrap 'muster accept gpu-[001-128] --run "
                             "/shared/delivery-7'\n"
                             "  muster accept --run delivery-7 --status\n"),
      help_of<FleetCommand>(
          "[add PATH...|--slurm | show | odd | drift | causes | part SERIAL|NODE | diff A B | "
          "whatif --set KEY=VALUE | export sql|jsonl | prune] [OPTION]...",
          "Keep the reports of all nodes in one file, and query it",
          "  muster fleet add /shared/muster/spool\n"
          "  muster fleet show\n"
          "  muster fleet part 1650000066\n"
          "  muster fleet causes --by firmware --since 90d\n"
          "  muster fleet whatif --set gpu.temperature.warn_above=80\n"
          "  muster fleet export sql | psql fleet\n"),
      help_of<RepairCommand>(
          "[HOSTLIST | @FILE]... [OPTION]...",
          "Print the next step for nodes that muster drained, or do it: restart a service, reset a "
          "GPU, reboot, claim",
          "  muster repair\n"
          "  muster repair --shadow\n"
          "  muster repair gpu-007 --go\n"
          "  muster repair --resolve ID=failed\n"),
      help_of<EvidenceCommand>(
          "[OPTION]...",
          "Collect logs, counters and reports of this node in one file for its provider",
          "  muster evidence --output /tmp/gpu-0007.tar.gz\n"),
      help_of<ClaimCommand>(
          "HOSTLIST... [OPTION]... | --run DIR [OPTION]... | --poll [HOSTLIST]...",
          "Print what the provider of a broken node asks for, or send it, if the fault is proven",
          "  muster claim gpu-007\n"
          "  muster claim gpu-007 --provider azure --send\n"
          "  muster claim --run delivery-7\n"
          "  muster claim --poll\n"),
  };
}

std::string overview_help() {
  std::string text =
      "Usage: muster COMMAND [OPTION]...\n\n"
      "Inspects a node of a GPU cluster, and reports what is wrong and how to fix it.\n\n";
  for (const auto& command : command_texts()) {
    text += fmt::format("  {:10}{}\n", command.name, wrapped(command.about, 12));
  }
  text +=
      "\n  -h, --help, --version\n\n"
      "Examples (see also muster COMMAND --help):\n"
      "  muster check\n"
      "  muster explain gpu.xid\n"
      "  muster check --snapshot node.json\n\n"
      "Exit status: 0 healthy (warnings included), 1 unhealthy, 2 could not decide,\n"
      "64 bad usage, 78 bad configuration.\n";
  return text;
}

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
  const std::string verb = words.empty() ? "" : words.front();
  const Words verbs{"show", "export", "make"};
  if (!words.empty() && std::ranges::count(verbs, verb) == 0) {
    return make_error("unexpected word \"{}\", expected show NAME, export DIR or make NAME{}",
                      printable(verb, 80), suggestion(verb, verbs));
  }
  if (verb == "show") command.show = words.back();
  if (verb == "export") command.export_to = words.back();
  if (verb == "make" && words.size() > 1) {
    command.make = words[1];
    command.snapshots.assign(words.begin() + 2, words.end());
  }
  const std::filesystem::path output(command.output);
  if (!command.make.empty() && output.extension() == ".yaml" && output.stem() != command.make) {
    return make_error("--output: name the file {}.yaml, as the profile", command.make);
  }
  return check_usage({
      {verb == "make" && words.size() < 2,
       "make: expected a name, such as muster profiles make trainer"},
      {verb != "make" && !(command.output.empty() && command.nvml.empty()),
       "--output and --nvml need make NAME"},
      {verb == "export" && words.size() != 2,
       "export: expected one folder, such as muster profiles export ."},
      {verb == "show" && words.size() != 2,
       "show: expected one profile, such as muster profiles show generic"},
      {verb != "show" && (command.changed || !command.settings.empty()),
       "--set and --changed need show NAME"},
  });
}

Result<void> finish(HookCommand& command, const Words& words) {
  constexpr std::string_view kWhen = "prolog|epilog|periodic|boot";
  TRY(check_usage({
      {command.check_setup && (command.dry_run || !words.empty()),
       "--check-setup changes nothing, and excludes a context and --dry-run"},
      {!command.check_setup && words.size() != 1,
       "expected one of prolog|epilog|periodic|boot, or --check-setup"},
  }));
  if (command.check_setup) return {};
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
  const bool drives = tasks == 0 || command.dry_run;
  const int of_run = given(command.plan) + given(command.soak) + given(command.by) +
                     given(command.sim) + given(command.muster);
  return check_usage({
      {tasks > 1,
       "--status, --page, --dry-run, --retest, --withdraw and --go-on exclude each other"},
      {command.run.empty() && !command.dry_run, "--run is missing, the folder of the run"},
      {command.dry_run && words.empty(), "expected nodes, such as gpu-[001-128]"},
      {command.withdraw.empty() != command.why.empty() && command.go_on.empty() &&
           command.retest.empty(),
       "--withdraw and --why need each other"},
      {!command.sim.empty() && command.by != "sim", "--sim needs --by sim"},
      {!drives && (of_run > 0 || !words.empty()),
       "--status, --page, --retest, --withdraw and --go-on are about a run that exists, and take "
       "neither nodes nor --plan, --soak, --by, --sim and --muster"},
      {command.whom == accept::For::provider && !command.page, "--for needs --page"},
  });
}

Result<void> finish(FleetCommand& command, const Words& words) {
  constexpr std::array kWithoutWords{"show", "prune", "odd", "drift", "causes", "whatif"};
  const auto questions = fleet_questions();
  command.question = words.empty() ? "show" : words.front();
  if (!words.empty()) command.words.assign(words.begin() + 1, words.end());
  if (std::ranges::find(questions, command.question) == questions.end()) {
    return make_error("unknown word \"{}\", expected {}{}", printable(command.question, 80),
                      fmt::join(questions, ", "), suggestion(command.question, questions));
  }
  const auto given = command.words.size();
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, command.question) != names.end();
  };
  return check_usage({
      {command.slurm && !is_one_of({"add"}), "--slurm is for add"},
      {command.since && !is_one_of({"add", "causes", "drift", "whatif", "export"}),
       "--since is for add --slurm, causes, drift, whatif and export"},
      {(command.go || command.keep) && !is_one_of({"prune"}), "--go and --keep are for prune"},
      {!(command.by.empty() && command.topology.empty()) && !is_one_of({"causes"}),
       "--by and --topology are for causes"},
      {(command.all || !command.settings.empty()) && !is_one_of({"whatif"}),
       "--set and --all are for whatif"},
      {command.form == FleetCommand::Form::json && is_one_of({"add", "prune", "export"}),
       "add, prune and export have no --format"},
      {!command.output.empty() && is_one_of({"add", "prune"}), "add and prune have no --output"},
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

Result<void> finish(EvidenceCommand& command, const Words& /*words*/) {
  if (command.node.empty() || is_host_name(command.node)) return {};
  return make_error("--node: invalid node name \"{}\"", printable(command.node, 80));
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
    return make_error("unknown option {}{}", printable(word, 80),
                      suggestion(word, {"--help", "--version"}));
  }
  Words names{std::string(kHelp)};
  for (const auto& command : command_texts()) names.emplace_back(command.name);
  return make_error("unknown command {}{}", printable(word, 80), suggestion(word, names));
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
  return make_error("{}{}{} (see muster{}{} --help)", command, command.empty() ? "" : ": ",
                    result.error().message, space, command);
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
