// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "checks/app/commands.hpp"
#include "checks/run.hpp"
#include "lib/profile/load.hpp"

namespace muster::app {
namespace {

using Text = std::string_view;
using Words = std::vector<std::string>;

// Suggests every check of this name, if several groups have one.
std::string suggested_checks(Text word) {
  Words several;
  for (const auto& id : check_ids()) {
    if (id.substr(id.find('.') + 1) == word) several.push_back(id);
  }
  if (several.size() < 2) return suggestion(word, check_ids());
  return fmt::format("; did you mean {}?", fmt::join(several, " or "));
}

// Refuses a glob that matches nothing: a typo would skip or run the wrong checks.
Result<void> take_checks(Words& target, Text value) {
  for (const auto glob : split(value, ',')) {
    if (names_check(trim(glob))) continue;
    return make_error("no check matches \"{}\"{}", printable(glob, 80),
                      suggested_checks(trim(glob)));
  }
  for (const auto glob : split(value, ',')) target.emplace_back(trim(glob));
  return {};
}

Result<void> take_check(std::string& target, Text value) {
  const auto& ids = check_ids();
  if (std::ranges::find(ids, value) == ids.end()) {
    return make_error("no check {}{}", printable(value, 80), suggestion(value, ids));
  }
  target = value;
  return {};
}

template <bool kWithExample>
Result<void> take_setting(Words& target, Text value) {
  if (!well_formed_setting(value)) {
    return make_error("invalid setting \"{}\", expected KEY=VALUE{}", printable(value, 80),
                      kWithExample ? " such as host.memory.tolerance=3%" : "");
  }
  target.emplace_back(value);
  return {};
}

Result<void> take_values(bool& all, Text value) {
  TRY(take_choice("own|all", value));
  all = value == "all";
  return {};
}

constexpr Text kContexts = "manual|prolog|epilog|periodic|boot";

Result<void> take_context(std::string& target, Text value) {
  TRY(take_choice(kContexts, value));
  target = value;
  return {};
}

Result<void> take_file(std::string& target, Text value) {
  if (value.empty()) return make_error("expected a file");
  target = value;
  return {};
}

template <int kMostDays>
Result<void> take_age(std::optional<Seconds>& target, Text value) {
  const auto age = parse_quantity<SecondsKind>(value);
  if (age && age->value > 0 && age->value <= kMostDays * 24.0 * 3600) return put(target, age);
  return make_error("invalid time \"{}\", expected 90s, 30min, 24h or 7d, and at most {} d",
                    printable(value, 40), kMostDays);
}

Result<void> take_slots(std::optional<int>& target, Text value) {
  if (const auto slots = take_number(value, 1, 65536)) return put(target, slots);
  return make_error("invalid number of processes \"{}\"", printable(value, 40));
}

// The options that several commands share.
template <class C>
consteval Option<C> context(Text help) {
  return option<&C::context, take_context>("--context", kContexts, help);
}

template <class C>
constexpr auto kSet = option<&C::settings, take_setting<true>>(
    "--set", "KEY=VALUE", "override one value of the profile; may be repeated");
template <class C>
constexpr auto kRoot = option<&C::root>("--root", "DIR", "read this tree instead of the host's /");
template <class C>
constexpr auto kHost = option<&C::host>(
    "--host", "",
    "in a container, observe the host that it runs on; needs the host's PID namespace and a "
    "privileged container");
template <class C>
constexpr auto kNvml = option<&C::nvml, take_file>(
    "--nvml", "FILE", "query GPUs by this library instead of the driver's libnvidia-ml.so.1");
template <class C>
constexpr auto kState = option<&C::state>(
    "--state", "DIR",
    "keep the state of earlier runs in DIR/state.json (default /var/lib/muster; none with --root)");
template <class C>
constexpr auto kValues =
    option<&C::all_values, take_values>("--values", "own|all",
                                        "metrics that no other exporter has, or also temperature, "
                                        "power, clocks and HCAs (default own)");
template <class C>
constexpr auto kDeadline = option<&C::deadline>(
    "--deadline", "TIME",
    "end within this time, such as 20s, even if something hangs (default: the context's)");
template <class C>
constexpr auto kHistory = option<&C::state>("--state", "DIR",
                                            "folder of the history (default /var/lib/muster)");
template <class C>
constexpr auto kDryRun = option<&C::dry_run>("--dry-run", "",
                                             "print what would be done, and do nothing");
template <class C>
constexpr auto kSince = option<&C::since, take_age<400>>(
    "--since", "TIME", "only events within this time, such as 5m, 24h or 30d");
template <class C>
constexpr auto kForm = option<&C::form>("--format", "text|json",
                                        "print one line of text or JSON per entry (default text)");

using C = CheckCommand;
using S = SnapshotCommand;
using L = ListCommand;
using X = ExplainCommand;
using P = ProfilesCommand;
using V = ValidateCommand;
using H = HookCommand;
using D = DrainCommand;
using R = ResumeCommand;
using T = StatusCommand;
using Y = HistoryCommand;
using E = EventsCommand;
using F = HostfileCommand;
using W = SweepCommand;
using A = AgentCommand;
using N = AcceptCommand;
using M = FleetCommand;
using G = RepairCommand;
using B = EvidenceCommand;
using J = ClaimCommand;

// The options of each command.
template <class C>
constexpr std::nullptr_t kOptions = nullptr;

template <>
constexpr std::array kOptions<C>{
    option<&C::profile>("--profile", "NAME|FILE",
                        "judge by this profile instead of that of muster.yaml or of the hardware"),
    context<C>("the reason for this run (default manual)"),
    option<&C::only, take_checks>("--only", "GLOB,...", "run only these checks"),
    option<&C::skip, take_checks>("--skip", "GLOB,...", "skip these checks"),
    option<&C::nhc_conf, take_file>(
        "--nhc-conf", "FILE",
        "judge by the lines of this configuration of NHC instead of the context's checks; in a "
        "folder, by the file for the node's size"),
    option<&C::active>("--active", "",
                       "run muster-bench for lines that ask for a benchmark, each with its own "
                       "time limit; only on a node without jobs"),
    kSet<C>,
    option<&C::format>("--format", kCheckFormats, "format of the report (default text)"),
    kValues<C>,
    option<&C::output>("--output", "FILE",
                       "write the report to FILE, atomically; %h in its name stands for this host"),
    option<&C::snapshots>(
        "--snapshot", "FILE|DIR",
        "judge snapshots instead of this node: files, the *.json of a directory, or - for standard "
        "input",
        Arity::many),
    option<&C::save_snapshot>("--save-snapshot", "FILE", "save the snapshot as well"),
    kRoot<C>,
    kHost<C>,
    kNvml<C>,
    kState<C>,
    kDeadline<C>,
    option<&C::verbose>("-v,--verbose", "", "print passes, skips and all probes as well"),
    option<&C::quiet>("-q,--quiet", "", "print only problems and the verdict"),
};

template <>
constexpr std::array kOptions<S>{
    option<&S::profile>("--profile", "NAME|FILE",
                        "observe what this profile needs as well (default: as muster check)"),
    context<S>("use the deadline of this context (default manual)"),
    option<&S::output>("--output", "FILE",
                       "write to FILE, atomically; %h in its name stands for this host"),
    kRoot<S>,
    kHost<S>,
    kNvml<S>,
    kState<S>,
    kDeadline<S>,
    option<&S::describe>("--describe", "", "print the fields of a snapshot as Markdown"),
};

template <>
constexpr std::array kOptions<L>{
    option<&L::form>("--format", "text|json|markdown", "format of the list (default text)"),
};

template <>
constexpr std::array kOptions<X>{
    option<&X::profile>("--profile", "NAME|FILE",
                        "show the limits of this profile (default: as muster check)"),
    kSet<X>,
    kRoot<X>,
};

template <>
constexpr std::array kOptions<V>{
    option<&V::root>("--root", "DIR", "read the site's files below this tree"),
};

template <>
constexpr std::array kOptions<P>{
    option<&P::changed>("--changed", "", "show only values that differ from defaults.yaml"),
    kSet<P>,
    option<&P::output>("--output", "FILE", "write the new profile to FILE"),
    kNvml<P>,
    option<&P::root>("--root", "DIR",
                     "read the site's profiles, and observe the node for make, below this tree"),
};

template <>
constexpr std::array kOptions<H>{
    option<&H::profile>("--profile", "NAME|FILE", "judge by this profile"),
    option<&H::settings, take_setting<false>>("--set", "KEY=VALUE",
                                              "override one value of the profile"),
    option<&H::nhc_conf>(
        "--nhc-conf", "FILE",
        "judge by the lines of this configuration of NHC instead of the context's checks; in a "
        "folder, by the file for the node's size"),
    option<&H::check_setup>("--check-setup", "",
                            "check everything that a hook needs, and do nothing"),
    kDryRun<H>,
    kRoot<H>,
    option<&H::nvml>("--nvml", "FILE", "query GPUs by this library"),
    option<&H::state>("--state", "DIR",
                      "folder of the history and the state (default /var/lib/muster)"),
};

template <>
constexpr std::array kOptions<D>{
    option<&D::reason>("--reason", "TEXT", "the reason, shown by Slurm"),
    option<&D::report>(
        "--report", "FILE",
        "drain the nodes that a report of muster-bench locate accuses, by the site's "
        "rules; - for standard input"),
    kDryRun<D>,
    kRoot<D>,
    kHistory<D>,
};

template <>
constexpr std::array kOptions<R>{
    option<&R::check, take_check>(
        "--check", "CHECK",
        "accept the drains of a check that muster stopped, on these nodes or on all: they stay "
        "drained, and the check may drain again"),
    kDryRun<R>,
    kRoot<R>,
    kHistory<R>,
};

template <>
constexpr std::array kOptions<T>{
    option<&T::form>("--format", "text|json", "print one screen of text, or JSON (default text)"),
    kRoot<T>,
    kHistory<T>,
};

template <>
constexpr std::array kOptions<Y>{
    kSince<Y>,
    kForm<Y>,
    kHistory<Y>,
};

template <>
constexpr std::array kOptions<E>{
    kSince<E>,
    option<&E::follow>("--follow", "", "keep printing new events"),
    kForm<E>,
    kHistory<E>,
};

template <>
constexpr std::array kOptions<F>{
    option<&F::partition>("--partition", "NAME",
                          "list the nodes of this partition that are in service"),
    option<&F::slots, take_slots>("--slots", "N", "number of processes on each node"),
    option<&F::output>("--output", "FILE", "write to FILE, atomically"),
    kRoot<F>,
};

template <>
constexpr std::array kOptions<W>{
    option<&W::status>("--status", "",
                       "print which nodes are overdue, suspect or confirmed, and do nothing"),
    kDryRun<W>,
    kForm<W>,
    kRoot<W>,
    kHistory<W>,
};

template <>
constexpr std::array kOptions<A>{
    option<&A::interval>("--interval", "TIME", "judge the node this often (default 60s)"),
    option<&A::check>("--check", "OPTION",
                      "pass this option to muster check as well, such as --check=--profile=NAME; "
                      "may be repeated"),
    option<&A::metrics>("--metrics", "FILE",
                        "write each report to FILE for the textfile collector of node_exporter"),
    kValues<A>,
    option<&A::node>("--node", "NAME", "the node's name in Kubernetes (default $NODE_NAME)"),
    option<&A::account>("--service-account", "DIR",
                        "the folder with token and ca.crt (default the pod's)"),
};

template <>
constexpr std::array kOptions<N>{
    option<&N::run>("--run", "DIR", "the folder of the run; if it exists, the run is resumed"),
    option<&N::plan>(
        "--plan", "quick|standard|strict|FILE",
        "stages, times and retests: with a soak of 30 minutes, a day or three days, or "
        "from a YAML file (default standard)"),
    option<&N::by>("--by", "slurm|ssh|mpirun|local|sim|PROGRAM",
                   "how to reach the nodes; PROGRAM gets the node and a command (default: slurm in "
                   "an allocation, local for this machine, else ssh)"),
    option<&N::soak>("--soak", "TIME", "how long each node is under load, such as 36h"),
    option<&N::dry_run>("--dry-run", "", "print stages, times and node-hours, and do nothing"),
    option<&N::status>("--status", "", "print the state of the run, also while it is driven"),
    option<&N::page>("--page", "", "write page.html, accept.json and accept.csv again"),
    option<&N::whom>("--for", "site|provider",
                     "with --page: for the provider, write provider.html, without users, jobs, "
                     "addresses and notes (default site)"),
    option<&N::retest>("--retest", "HOSTLIST", "record that these nodes are to start over"),
    option<&N::go_on>("--go-on", "CHECK",
                      "record that a stage that this check stopped is to continue"),
    option<&N::withdraw>("--withdraw", "HOSTLIST",
                         "record that these nodes were withdrawn from the delivery"),
    option<&N::why>("--why", "TEXT", "the reason, which the page shows"),
    option<&N::muster>("--muster", "FILE",
                       "muster on the nodes (default: the path of this program)"),
    option<&N::sim>("--sim", "WORD=VALUE,...", "the fleet of --by sim; --sim help lists the words"),
    option<&N::step>("--step", "JSON",
                     "on a node, for muster itself: run a stage and print the answer"),
};

template <>
constexpr std::array kOptions<M>{
    option<&M::store>("--store", "FILE", "the store (default /var/lib/muster/fleet.db)"),
    option<&M::cluster>("--cluster", "NAME",
                        "add: the cluster of the nodes; otherwise: only nodes of this cluster"),
    option<&M::slurm>("--slurm", "", "add: import Slurm's record of nodes and jobs"),
    option<&M::since, take_age<36'500>>(
        "--since", "TIME",
        "add --slurm, causes, drift, whatif, export: look no further back, such as 30d"),
    option<&M::form>("--format", "text|json|html",
                     "format of the answer (default text); html is the page of show"),
    option<&M::output>("--output", "FILE", "write the answer to FILE, atomically"),
    option<&M::keep, take_age<36'500>>("--keep", "TIME",
                                       "prune: keep values this long (default 400d)"),
    option<&M::go>("--go", "", "prune: remove, instead of only printing what would be removed"),
    option<&M::by>(
        "--by", "WHAT",
        "causes: check (default), part-kind, model, firmware, leaf, host, provider or action"),
    option<&M::topology>("--topology", "FILE",
                         "for --by leaf: Slurm's topology.conf, or lines 'leaf0 gpu-[01-16]'"),
    option<&M::settings, take_setting<false>>("--set", "KEY=VALUE",
                                              "whatif: the limit to try; may be repeated"),
    option<&M::all>("--all", "", "whatif: judge all snapshots, not only the newest of each node"),
};

template <>
constexpr std::array kOptions<G>{
    option<&G::go>("--go", "", "do one step for each node, instead of printing it"),
    option<&G::shadow>(
        "--shadow", "",
        "only record the steps; `muster fleet causes --by action` compares them with "
        "what admins did"),
    option<&G::resolve>("--resolve", "ID=succeeded|failed|cancelled",
                        "record the outcome of an operation that muster could not determine"),
    option<&G::automatic>("--automatic", "",
                          "for hooks: do only what repair.automatic in muster.yaml lists"),
    kRoot<G>,
    kHistory<G>,
};

template <>
constexpr std::array kOptions<B>{
    option<&B::output>("--output", "FILE",
                       "write the bundle to FILE; %h in its name stands for this host (default: "
                       "into the folder of the block repair in muster.yaml, with a report)"),
    option<&B::node>("--node", "NAME", "the node's name in Slurm (default: this host's name)"),
    option<&B::deadline>("--deadline", "TIME", "end within this time (default 180s)"),
    option<&B::root>("--root", "DIR", "read muster.yaml and the facts of muster check below DIR"),
};

template <>
constexpr std::array kOptions<J>{
    option<&J::provider>("--provider", "azure|gcp|oci|aws|text",
                         "the format of the claim (default: from the block repair)"),
    option<&J::reports>("--report", "FILE",
                        "another report of the node, in addition to the repair folder's; - is "
                        "standard input; may be repeated"),
    option<&J::run>("--run", "DIR", "claim the rejected nodes of this acceptance"),
    option<&J::vm_id>("--vm-id", "ID", "the provider's id of the node's virtual machine"),
    option<&J::send>("--send", "", "send it with curl, gcloud or oci, instead of printing it"),
    option<&J::no_evidence>("--no-evidence", "", "send it even if no evidence can be collected"),
    option<&J::poll>("--poll", "", "follow the open claims of these nodes, or of all nodes"),
    kRoot<J>,
};

}  // namespace

template <class Command>
std::span<const Option<Command>> options_of() {
  return kOptions<Command>;
}

template std::span<const Option<CheckCommand>> options_of();
template std::span<const Option<SnapshotCommand>> options_of();
template std::span<const Option<ListCommand>> options_of();
template std::span<const Option<ExplainCommand>> options_of();
template std::span<const Option<ProfilesCommand>> options_of();
template std::span<const Option<ValidateCommand>> options_of();
template std::span<const Option<HookCommand>> options_of();
template std::span<const Option<DrainCommand>> options_of();
template std::span<const Option<ResumeCommand>> options_of();
template std::span<const Option<StatusCommand>> options_of();
template std::span<const Option<HistoryCommand>> options_of();
template std::span<const Option<EventsCommand>> options_of();
template std::span<const Option<HostfileCommand>> options_of();
template std::span<const Option<SweepCommand>> options_of();
template std::span<const Option<AgentCommand>> options_of();
template std::span<const Option<AcceptCommand>> options_of();
template std::span<const Option<FleetCommand>> options_of();
template std::span<const Option<RepairCommand>> options_of();
template std::span<const Option<EvidenceCommand>> options_of();
template std::span<const Option<ClaimCommand>> options_of();

}  // namespace muster::app
