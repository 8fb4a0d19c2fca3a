// SPDX-License-Identifier: Apache-2.0
#include "checks/app/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "checks/catalogue.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"

namespace muster::app {
namespace {

using Words = std::vector<std::string>;

// A name that matches nothing is a slip: a check that was asked for would be missed, and one that
// was not wanted would run.
Result<void> take_checks(Words& target, std::string_view value) {
  Words ids;
  for (const auto* check : checks::kAll) ids.emplace_back(check->id);
  for (const auto glob : split(value, ',')) {
    const auto matches = [&](const std::string& id) { return matches_glob(trim(glob), id); };
    if (std::ranges::any_of(ids, matches)) continue;
    return make_error(
        fmt::format("no check matches \"{}\"{}", printable(glob, 80), suggestion(trim(glob), ids)));
  }
  for (const auto glob : split(value, ',')) target.emplace_back(trim(glob));
  return {};
}

Result<void> take_setting(Words& target, std::string_view value) {
  if (!well_formed_setting(value)) {
    return make_error(fmt::format("expects KEY=VALUE as host.memory.tolerance=3%, got \"{}\"",
                                  printable(value, 80)));
  }
  target.emplace_back(value);
  return {};
}

constexpr std::string_view kContexts = "manual|prolog|epilog|periodic|boot";
constexpr std::string_view kListForms = "text|json|markdown";

constexpr std::string_view kProfileHelp =
    "judge by this profile; without it the site's muster.yaml or the hardware tells";
constexpr std::string_view kRootHelp = "read this tree in place of the host's own /";
constexpr std::string_view kNvmlHelp =
    "ask this library about GPUs, in place of the driver's libnvidia-ml.so.1";
constexpr std::string_view kStateHelp =
    "remember earlier runs in DIR/state.json (default /var/lib/muster; none below --root)";
constexpr std::string_view kDeadlineHelp =
    "end within this time, whatever hangs, as 20s (default: the context's)";
constexpr std::string_view kSettingHelp = "override one value of the profile; may be repeated";

// Whatever the command, these mean the same.
template <class C>
Result<void> set_profile(C& command, std::string_view value) {
  return take_text(command.profile, value);
}

template <class C>
Result<void> set_context(C& command, std::string_view value) {
  const auto choice = take_choice(kContexts, value);
  if (!choice) return tl::unexpected(choice.error());
  command.context = value;
  return {};
}

template <class C>
Result<void> set_setting(C& command, std::string_view value) {
  return take_setting(command.settings, value);
}

template <class C>
Result<void> set_output(C& command, std::string_view value) {
  return take_text(command.output, value);
}

template <class C>
Result<void> set_root(C& command, std::string_view value) {
  return take_text(command.root, value);
}

template <class C>
Result<void> set_nvml(C& command, std::string_view value) {
  if (value.empty()) return make_error("--nvml needs the file of a library");
  command.nvml = value;
  return {};
}

template <class C>
Result<void> set_state(C& command, std::string_view value) {
  return take_text(command.state, value);
}

template <class C>
Result<void> set_deadline(C& command, std::string_view value) {
  return take_duration(command.deadline, value);
}

Result<void> set_only(CheckCommand& command, std::string_view value) {
  return take_checks(command.only, value);
}

Result<void> set_skip(CheckCommand& command, std::string_view value) {
  return take_checks(command.skip, value);
}

Result<void> set_nhc_conf(CheckCommand& command, std::string_view value) {
  if (value.empty()) return make_error("--nhc-conf needs a file");
  command.nhc_conf = value;
  return {};
}

Result<void> set_active(CheckCommand& command, std::string_view /*value*/) {
  command.active = true;
  return {};
}

Result<void> set_format(CheckCommand& command, std::string_view value) {
  const auto choice = take_choice(kFormats, value);
  if (!choice) return tl::unexpected(choice.error());
  command.format = static_cast<Format>(*choice);
  return {};
}

Result<void> add_snapshot(CheckCommand& command, std::string_view value) {
  return take_text(command.snapshots.emplace_back(), value);
}

Result<void> set_save_snapshot(CheckCommand& command, std::string_view value) {
  return take_text(command.save_snapshot, value);
}

Result<void> set_verbose(CheckCommand& command, std::string_view /*value*/) {
  command.verbose = true;
  return {};
}

Result<void> set_quiet(CheckCommand& command, std::string_view /*value*/) {
  command.quiet = true;
  return {};
}

Result<void> set_describe(SnapshotCommand& command, std::string_view /*value*/) {
  command.describe = true;
  return {};
}

Result<void> set_list_form(ListCommand& command, std::string_view value) {
  const auto choice = take_choice(kListForms, value);
  if (!choice) return tl::unexpected(choice.error());
  command.form = static_cast<ListCommand::Form>(*choice);
  return {};
}

using C = CheckCommand;
using S = SnapshotCommand;

constexpr std::array kCheckOptions{
    Option<C>{"--profile", "NAME|FILE", Arity::one, kProfileHelp, set_profile<C>},
    Option<C>{"--context",
              kContexts,
              Arity::one,
              "why this run takes place (default manual)",
              set_context<C>},
    Option<C>{"--only", "GLOB,...", Arity::each, "run these checks and no others", set_only},
    Option<C>{"--skip", "GLOB,...", Arity::each, "leave these checks out", set_skip},
    Option<C>{"--nhc-conf",
              "FILE",
              Arity::one,
              "judge by the lines of NHC's configuration that are for this node, and no others",
              set_nhc_conf},
    Option<C>{"--active",
              "",
              Arity::flag,
              "run muster-bench for those of these lines that ask for a benchmark, each in a time "
              "of its own: on a node without jobs",
              set_active},
    Option<C>{"--set", "KEY=VALUE", Arity::each, kSettingHelp, set_setting<C>},
    Option<C>{"--format", kFormats, Arity::one, "form of the report (default text)", set_format},
    Option<C>{"--output",
              "FILE",
              Arity::one,
              "write the report to FILE, replacing it at once",
              set_output<C>},
    Option<C>{"--snapshot",
              "FILE|DIR",
              Arity::many,
              "judge recorded nodes in place of this one; several, a directory's *.json, or - for "
              "standard input",
              add_snapshot},
    Option<C>{
        "--save-snapshot", "FILE", Arity::one, "also keep what was observed", set_save_snapshot},
    Option<C>{"--root", "DIR", Arity::one, kRootHelp, set_root<C>},
    Option<C>{"--nvml", "FILE", Arity::one, kNvmlHelp, set_nvml<C>},
    Option<C>{"--state", "DIR", Arity::one, kStateHelp, set_state<C>},
    Option<C>{"--deadline", "TIME", Arity::one, kDeadlineHelp, set_deadline<C>},
    Option<C>{"-v,--verbose", "", Arity::flag, "passes, skips and all probes too", set_verbose},
    Option<C>{"-q,--quiet", "", Arity::flag, "only what is wrong and the verdict", set_quiet},
};

constexpr std::array kSnapshotOptions{
    Option<S>{"--profile",
              "NAME|FILE",
              Arity::one,
              "look for what this profile names, too; without it as muster check",
              set_profile<S>},
    Option<S>{"--context",
              kContexts,
              Arity::one,
              "whose deadline holds (default manual)",
              set_context<S>},
    Option<S>{"--output", "FILE", Arity::one, "write to FILE, replacing it at once", set_output<S>},
    Option<S>{"--root", "DIR", Arity::one, kRootHelp, set_root<S>},
    Option<S>{"--nvml", "FILE", Arity::one, kNvmlHelp, set_nvml<S>},
    Option<S>{"--state", "DIR", Arity::one, kStateHelp, set_state<S>},
    Option<S>{"--deadline", "TIME", Arity::one, kDeadlineHelp, set_deadline<S>},
    Option<S>{
        "--describe", "", Arity::flag, "print what a snapshot holds, as Markdown", set_describe},
};

constexpr std::array kListOptions{
    Option<ListCommand>{
        "--format", kListForms, Arity::one, "form of the list (default text)", set_list_form},
};

constexpr std::array kExplainOptions{
    Option<ExplainCommand>{"--profile",
                           "NAME|FILE",
                           Arity::one,
                           "show the limits of this profile; without it as muster check",
                           set_profile<ExplainCommand>},
    Option<ExplainCommand>{
        "--set", "KEY=VALUE", Arity::each, kSettingHelp, set_setting<ExplainCommand>},
    Option<ExplainCommand>{"--root", "DIR", Arity::one, kRootHelp, set_root<ExplainCommand>},
};

constexpr std::array kProfilesOptions{
    Option<ProfilesCommand>{
        "--set", "KEY=VALUE", Arity::each, kSettingHelp, set_setting<ProfilesCommand>},
    Option<ProfilesCommand>{"--root",
                            "DIR",
                            Arity::one,
                            "look for the site's profiles below this tree",
                            set_root<ProfilesCommand>},
};

template <class Command>
CommandText text_of(std::string_view synopsis, std::string_view about) {
  return {.program = "muster",
          .name = Command::kName,
          .synopsis = synopsis,
          .about = about,
          .options = texts_of(options_of<Command>())};
}

}  // namespace

template <>
std::span<const Option<CheckCommand>> options_of<CheckCommand>() {
  return kCheckOptions;
}

template <>
std::span<const Option<SnapshotCommand>> options_of<SnapshotCommand>() {
  return kSnapshotOptions;
}

template <>
std::span<const Option<ListCommand>> options_of<ListCommand>() {
  return kListOptions;
}

template <>
std::span<const Option<ExplainCommand>> options_of<ExplainCommand>() {
  return kExplainOptions;
}

template <>
std::span<const Option<ProfilesCommand>> options_of<ProfilesCommand>() {
  return kProfilesOptions;
}

std::vector<CommandText> command_texts() {
  return {
      text_of<CheckCommand>("[OPTION]...",
                            "Observe this node and judge whether it is fit for work"),
      text_of<SnapshotCommand>("[OPTION]...",
                               "Observe this node and print what was seen, unjudged"),
      text_of<ListCommand>("[OPTION]...", "List the checks"),
      text_of<ExplainCommand>("CHECK [OPTION]...",
                              "What a check looks at, why, its limits and where they come from"),
      text_of<ProfilesCommand>(
          "[show NAME | export DIR] [OPTION]...",
          "List the profiles, show one merged with the origin of each value, or write the shipped "
          "files"),
      text_of<HookCommand>("prolog|epilog|periodic|boot [OPTION]...",
                           "Check this node for Slurm, and drain or resume it by the site's rules"),
      text_of<DrainCommand>("HOSTLIST --reason TEXT [OPTION]...",
                            "Take nodes out of service, until somebody resumes them"),
      text_of<ResumeCommand>("HOSTLIST [OPTION]...",
                             "Put nodes that muster took out of service back"),
      text_of<HistoryCommand>("[HOSTLIST] [OPTION]...",
                              "Which nodes were drained and resumed, when and why"),
      text_of<EventsCommand>("[HOSTLIST] [OPTION]...",
                             "Everything muster did to nodes, and what it refused to do"),
      text_of<HostfileCommand>("[HOSTLIST] [OPTION]...",
                               "A host file for Open MPI: of a list, a partition, or this job"),
      text_of<SweepCommand>("[OPTION]...",
                            "Benchmark idle nodes by rotation: one pass, for a timer to call"),
  };
}

}  // namespace muster::app
