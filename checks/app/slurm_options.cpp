// SPDX-License-Identifier: Apache-2.0
// The options of the commands that talk to Slurm.
#include <fmt/format.h>

#include <array>

#include "checks/app/option_table.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"
#include "slurm/commands/slurm_commands.hpp"

namespace muster::app {
namespace {

constexpr std::string_view kEventForms = "text|json";
constexpr std::string_view kRootHelp = "read this tree in place of the host's own /";
constexpr std::string_view kStateHelp = "folder of the history (default /var/lib/muster)";
constexpr std::string_view kDryHelp = "say what would be done, and do nothing";
constexpr std::string_view kSinceHelp = "only what happened within this time, as 24h or 30d";
constexpr std::string_view kFormHelp = "a line of text or of JSON for each (default text)";

template <class C>
Result<void> set_root(C& command, std::string_view value) {
  return take_text(command.root, value);
}

template <class C>
Result<void> set_state(C& command, std::string_view value) {
  return take_text(command.state, value);
}

template <class C>
Result<void> set_dry_run(C& command, std::string_view /*value*/) {
  command.dry_run = true;
  return {};
}

// As far as a history goes back.
Result<void> take_age(std::optional<Seconds>& target, std::string_view value) {
  constexpr double kOldest = 400.0 * 24 * 3600;
  const auto age = parse_quantity<SecondsKind>(value);
  if (!age || age->value <= 0 || age->value > kOldest) {
    return make_error(
        fmt::format("expects a time above zero and up to 400 d, as 90s, 30min, 24h or 7d, got "
                    "\"{}\"",
                    printable(value, 40)));
  }
  target = *age;
  return {};
}

Result<void> set_status(SweepCommand& command, std::string_view /*value*/) {
  command.status = true;
  return {};
}

template <class C>
Result<void> set_since(C& command, std::string_view value) {
  return take_age(command.since, value);
}

template <class C>
Result<void> set_form(C& command, std::string_view value) {
  const auto choice = take_choice(kEventForms, value);
  if (!choice) return tl::unexpected(choice.error());
  command.form = static_cast<EventForm>(*choice);
  return {};
}

Result<void> set_follow(EventsCommand& command, std::string_view /*value*/) {
  command.follow = true;
  return {};
}

Result<void> set_reason(DrainCommand& command, std::string_view value) {
  return take_text(command.reason, value);
}

Result<void> set_profile(HookCommand& command, std::string_view value) {
  return take_text(command.profile, value);
}

Result<void> add_setting(HookCommand& command, std::string_view value) {
  if (!well_formed_setting(value)) {
    return make_error(fmt::format("expects KEY=VALUE, got \"{}\"", printable(value, 80)));
  }
  command.settings.emplace_back(value);
  return {};
}

Result<void> set_nhc_conf(HookCommand& command, std::string_view value) {
  return take_text(command.nhc_conf, value);
}

Result<void> set_nvml(HookCommand& command, std::string_view value) {
  return take_text(command.nvml, value);
}

Result<void> set_partition(HostfileCommand& command, std::string_view value) {
  return take_text(command.partition, value);
}

Result<void> set_output(HostfileCommand& command, std::string_view value) {
  return take_text(command.output, value);
}

Result<void> set_slots(HostfileCommand& command, std::string_view value) {
  const auto slots = parse_unsigned(value);
  if (!slots || *slots < 1 || *slots > 65536) {
    return make_error(
        fmt::format("expects a number of processes, got \"{}\"", printable(value, 40)));
  }
  command.slots = static_cast<int>(*slots);
  return {};
}

using H = HookCommand;
using D = DrainCommand;
using R = ResumeCommand;
using Y = HistoryCommand;
using E = EventsCommand;
using F = HostfileCommand;
using W = SweepCommand;

constexpr std::array kHookOptions{
    Option<H>{"--profile", "NAME|FILE", Arity::one, "judge by this profile", set_profile},
    Option<H>{"--set", "KEY=VALUE", Arity::each, "override one value of the profile", add_setting},
    Option<H>{"--nhc-conf",
              "FILE",
              Arity::one,
              "judge by the lines of NHC's configuration that are for this node, and no others",
              set_nhc_conf},
    Option<H>{"--dry-run", "", Arity::flag, kDryHelp, set_dry_run<H>},
    Option<H>{"--root", "DIR", Arity::one, kRootHelp, set_root<H>},
    Option<H>{"--nvml", "FILE", Arity::one, "ask this library about GPUs", set_nvml},
    Option<H>{"--state",
              "DIR",
              Arity::one,
              "folder of the history and of earlier runs (default /var/lib/muster)",
              set_state<H>},
};

constexpr std::array kDrainOptions{
    Option<D>{
        "--reason", "TEXT", Arity::one, "why, for everybody who looks at the node", set_reason},
    Option<D>{"--dry-run", "", Arity::flag, kDryHelp, set_dry_run<D>},
    Option<D>{"--root", "DIR", Arity::one, kRootHelp, set_root<D>},
    Option<D>{"--state", "DIR", Arity::one, kStateHelp, set_state<D>},
};

constexpr std::array kResumeOptions{
    Option<R>{"--dry-run", "", Arity::flag, kDryHelp, set_dry_run<R>},
    Option<R>{"--root", "DIR", Arity::one, kRootHelp, set_root<R>},
    Option<R>{"--state", "DIR", Arity::one, kStateHelp, set_state<R>},
};

constexpr std::array kHistoryOptions{
    Option<Y>{"--since", "TIME", Arity::one, kSinceHelp, set_since<Y>},
    Option<Y>{"--format", kEventForms, Arity::one, kFormHelp, set_form<Y>},
    Option<Y>{"--state", "DIR", Arity::one, kStateHelp, set_state<Y>},
};

constexpr std::array kEventsOptions{
    Option<E>{"--since", "TIME", Arity::one, kSinceHelp, set_since<E>},
    Option<E>{"--follow", "", Arity::flag, "go on as more happens", set_follow},
    Option<E>{"--format", kEventForms, Arity::one, kFormHelp, set_form<E>},
    Option<E>{"--state", "DIR", Arity::one, kStateHelp, set_state<E>},
};

constexpr std::array kHostfileOptions{
    Option<F>{"--partition", "NAME", Arity::one, "hosts of its nodes in service", set_partition},
    Option<F>{"--slots", "N", Arity::one, "processes of each node", set_slots},
    Option<F>{"--output", "FILE", Arity::one, "write to FILE, replacing it at once", set_output},
    Option<F>{"--root", "DIR", Arity::one, kRootHelp, set_root<F>},
};

constexpr std::array kSweepOptions{
    Option<W>{"--status",
              "",
              Arity::flag,
              "how nodes stand: not swept in time, suspect, confirmed; and do nothing",
              set_status},
    Option<W>{"--dry-run", "", Arity::flag, kDryHelp, set_dry_run<W>},
    Option<W>{"--format", kEventForms, Arity::one, kFormHelp, set_form<W>},
    Option<W>{"--root", "DIR", Arity::one, kRootHelp, set_root<W>},
    Option<W>{"--state", "DIR", Arity::one, kStateHelp, set_state<W>},
};

}  // namespace

template <>
std::span<const Option<HookCommand>> options_of<HookCommand>() {
  return kHookOptions;
}

template <>
std::span<const Option<DrainCommand>> options_of<DrainCommand>() {
  return kDrainOptions;
}

template <>
std::span<const Option<ResumeCommand>> options_of<ResumeCommand>() {
  return kResumeOptions;
}

template <>
std::span<const Option<HistoryCommand>> options_of<HistoryCommand>() {
  return kHistoryOptions;
}

template <>
std::span<const Option<EventsCommand>> options_of<EventsCommand>() {
  return kEventsOptions;
}

template <>
std::span<const Option<HostfileCommand>> options_of<HostfileCommand>() {
  return kHostfileOptions;
}

template <>
std::span<const Option<SweepCommand>> options_of<SweepCommand>() {
  return kSweepOptions;
}

}  // namespace muster::app
