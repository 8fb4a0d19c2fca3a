// SPDX-License-Identifier: Apache-2.0
#include "checks/app/inspect.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "checks/app/run_benchmarks.hpp"
#include "lib/command/version.hpp"
#include "lib/node/container.hpp"
#include "lib/probes/host.hpp"
#include "lib/probes/observe.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/process/child.hpp"
#include "lib/profile/site.hpp"
#include "lib/state/state.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;

// A foreign tree has no state, unless --state names a folder for it. Users must not choose where
// root keeps the state.
Result<std::optional<std::filesystem::path>> state_file_of(const ObservationRequest& request,
                                                           const Root& root) {
  if (request.state.empty() && root.foreign()) return std::nullopt;
  const std::filesystem::path folder = request.state.empty() ? "/var/lib/muster" : request.state;
  if (::geteuid() == 0) TRY(check_no_others_link(folder / "state.json"));
  return folder / "state.json";
}

// The caller's environment does not apply to a foreign node, nor a container's to its host.
std::map<std::string, std::string> variables_of(bool foreign,
                                                std::map<std::string, std::string> variables) {
  if (!foreign) return variables;
  std::erase_if(variables, [](const auto& each) { return steers_nccl(each.first); });
  return variables;
}

void append(std::vector<std::string>& target, const std::vector<std::string>& more) {
  target.insert(target.end(), more.begin(), more.end());
}

// Reserves time for judging and writing.
Clock::time_point observe_until(Clock::time_point started, Clock::time_point deadline) {
  constexpr Clock::duration kLongestReserve = std::chrono::milliseconds(500);
  return deadline - std::min(kLongestReserve, (deadline - started) / 5);
}

// Leaves at least a second after recognition, to report a probe that hangs.
void move_deadline(const ObservationRequest& request, const Profile& profile,
                   Clock::time_point started, Deadline& deadline) {
  constexpr auto kMin = std::chrono::seconds(1);
  if (request.deadline) return;
  const auto context = profile.contexts.find(request.context);
  if (context == profile.contexts.end() || context->second.deadline.value <= 0) return;
  const auto asked = started + to_duration(context->second.deadline);
  deadline.move(std::max(asked, Clock::now() + kMin));
}

using Lines = std::optional<nhc::Config>;

Selection observed_for(const CheckCommand& command) {
  return {
      .context = command.context, .only = command.only, .skip = command.skip, .also = command.also};
}

// Observes everything for a snapshot that is saved, and everything that any profile may run before
// the profile is known.
ProbeSet probes_for(const CheckCommand& command, const Lines& lines, const Profile* profile) {
  if (!command.save_snapshot.empty()) return ProbeSet::all();
  if (lines) return nhc::needs_of(*lines, command.active).probes;
  if (profile == nullptr && command.only.empty()) return ProbeSet::all();
  return probes_needed(select_checks(profile ? *profile : Profile{}, observed_for(command)));
}

using Enter = std::function<Result<void>()>;

// Moves the child of a probe to the host of this container; empty on the host itself.
Result<Enter> way_to_host(bool wanted) {
  if (!wanted) return Enter();
  TRY_ASSIGN(auto host, HostNamespaces::open());
  if (!host) return Enter();
  return [shared = std::make_shared<const HostNamespaces>(*std::move(host))] {
    return shared->join();
  };
}

// The profile is not known yet when the GPUs are queried.
NvmlParts parts_for(const CheckCommand& command, const Lines& lines) {
  if (!command.save_snapshot.empty()) return NvmlParts::all();
  if (lines) return nhc::needs_of(*lines).parts;
  return parts_asked(select_checks(Profile{}, observed_for(command)));
}

// The cloud's name for the size of this node, if it selects the configuration of NHC.
Fact<std::string> size_of(const CheckCommand& command) {
  if (!nhc_conf_by_size(command)) return {};
  const auto root = open_root(command.root);
  if (!root) return Fact<std::string>::failed(root.error());
  if (!command.host) return probe_identity(*root)->instance_size;
  ObserveOptions options{.probes = Probe::identity,
                         .deadline = Clock::now() + kDefaultDeadline,
                         .state_file = std::nullopt};
  TRY_ASSIGN(options.enter, way_to_host(true));
  return observe(*root, options,
                 [&](const Snapshot&) {
                   return Plan{.probes = Probe::identity, .deadline = options.deadline};
                 })
      .identity->instance_size;
}

// A snapshot that cannot be saved changes only a healthy status.
int save(const CheckCommand& command, const Caller& caller, const Snapshot& snapshot, int status) {
  if (command.save_snapshot.empty()) return status;
  const auto text = to_json(snapshot);
  const int saved = deliver(caller, command.save_snapshot, text, kExitHealthy, kSnapshotMode);
  return status == kExitHealthy ? saved : status;
}

// The first probe or check without permission; empty if all had it.
std::string not_allowed(const Report& report) {
  const auto denied = [](const std::string& reason) {
    return reason.find("Permission denied") != std::string::npos ||
           reason.find("Operation not permitted") != std::string::npos;
  };
  for (const auto& probe : report.probes) {
    if (denied(probe.reason)) return probe.name;
  }
  for (const auto& finding : report.findings) {
    if (finding.outcome != Outcome::pass && denied(finding.message)) return finding.check;
  }
  return "";
}

// An ordinary user sees less of the node.
void suggest_root(const CheckCommand& command, const Caller& caller, const Report& report) {
  if (::geteuid() == 0 || command.root != "/") return;
  const auto which = not_allowed(report);
  if (which.empty()) return;
  caller.console.note(fmt::format("muster: some checks need root, such as {}", which));
}

// Identifies the hardware: the sorted UUIDs of GPUs and GUIDs of HCAs.
std::string identity_of(const Snapshot& snapshot) {
  std::set<std::string> members;
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (gpu.uuid) members.insert(*gpu.uuid);
  }
  for (const auto& hca : snapshot.infiniband->hcas) {
    if (hca.node_guid) members.insert(*hca.node_guid);
  }
  return fmt::format("{}", fmt::join(members, " "));
}

// Identifies the machine itself, for nodes without such hardware.
std::string machine_of(const Snapshot& snapshot, const std::string& root) {
  if (const auto& host = snapshot.identity->physical_host; host)
    return fmt::format("host {}", *host);
  const auto id = open_root(root).and_then(
      [](const Root& files) { return files.read_line("/etc/machine-id"); });
  return id ? fmt::format("id {}", *id) : "";
}

}  // namespace

Wanted wanted_of(const Profile& profile) {
  Wanted wanted;
  for (const auto& [key, value] : profile.host->sysctl.values) wanted.sysctls.push_back(key);
  append(wanted.files, profile.host->programs.executable);
  append(wanted.files, profile.host->programs.present);
  append(wanted.files, profile.host->container_storage.paths);
  append(wanted.libraries, profile.env->libraries.required);
  append(wanted.libraries, profile.env->libraries.optional);
  wanted.nccl_topology = profile.topo->nccl_file.path.value_or("");
  const auto statfs = std::chrono::duration<double>(profile.host->mounts.answer_within.value);
  if (statfs.count() > 0) {
    wanted.statfs_deadline = std::chrono::duration_cast<std::chrono::milliseconds>(statfs);
  }
  return wanted;
}

Result<Root> open_root(const std::string& path) {
  if (path == "/") return Root();
  return Root::below(path);
}

Attempt<ObservedNode> observe_node(const ObservationRequest& request,
                                   const std::map<std::string, std::string>& variables,
                                   Clock::time_point started, Deadline& deadline) {
  const auto sources = sources_of(variables, request.root, request.settings);
  TRY_ASSIGN(const auto name, profile_name(sources, request.profile));
  const auto root = open_root(request.root);
  if (!root) {
    // An invalid profile is reported first.
    TRY(name ? named_profile(sources, *name, read_profile_of) : Attempt<Choice>());
    return undecided(root.error());
  }

  auto enter = way_to_host(request.host);
  if (!enter) return undecided(enter.error());
  const auto state_file = state_file_of(request, *root);
  if (!state_file) return undecided(state_file.error());
  // Only these contexts have time for facts that are slow to read.
  auto parts = request.parts;
  parts.inforom = parts.inforom && (request.context == "manual" || request.context == "boot");
  // A job waits for a prolog and an epilog: do not query the firmware of each HCA there.
  const bool job_waits = request.context == "prolog" || request.context == "epilog";
  Result<Candidates> candidates;
  const auto read_them = [&] { candidates = read_candidates(sources); };
  const ObserveOptions options{.recognise = !name,
                               .probes = request.probes(nullptr),
                               .deadline = observe_until(started, deadline.when()),
                               .nvml = {.library = request.nvml, .parts = parts},
                               .link_errors = !job_waits,
                               .state_file = *state_file,
                               .variables = variables_of(root->foreign() || *enter, variables),
                               .meanwhile = name ? std::function<void()>() : read_them,
                               .enter = *std::move(enter)};
  Attempt<Choice> choice;
  auto snapshot = observe(*root, options, [&](const Snapshot& partial) -> std::optional<Plan> {
    choice = name ? named_profile(sources, *name, read_profile_of)
                  : recognised_profile(sources, candidates, partial, read_profile_of);
    if (!choice) return std::nullopt;
    move_deadline(request, choice->profile, started, deadline);
    return Plan{.probes = request.probes(&choice->profile) | Probe::identity,
                .deadline = observe_until(started, deadline.when()),
                .wanted = wanted_of(choice->profile)};
  });
  if (!choice) return tl::unexpected(choice.error());
  hide_container(snapshot);
  return ObservedNode{
      .snapshot = std::move(snapshot), .choice = std::move(*choice), .state_file = *state_file};
}

bool nhc_conf_by_size(const CheckCommand& command) {
  std::error_code not_there;
  return std::filesystem::is_directory(command.nhc_conf, not_there);
}

// The file is the caller's, not one below --root.
Attempt<std::optional<nhc::Config>> nhc_conf_of(const CheckCommand& command,
                                                const Fact<std::string>& size) {
  if (command.nhc_conf.empty()) return std::nullopt;
  const auto wrong = [](std::string_view what) {
    return bad_configuration({.message = fmt::format("NHC's configuration{}", what)});
  };
  std::filesystem::path file = command.nhc_conf;
  if (nhc_conf_by_size(command)) {
    if (!size) {
      return wrong(
          fmt::format(" {} is a folder, and the size of this node is unknown ({}): name a file",
                      command.nhc_conf, size.why()));
    }
    file /= fmt::format("{}.conf", plain_profile_name(*size));
  }
  std::error_code failure;
  const auto path = std::filesystem::absolute(file, failure);
  if (failure) return wrong(fmt::format(" {}: {}", file.string(), failure.message()));
  const auto text = Root().read(path.string(), nhc::kLargestConfig);
  if (!text) return wrong(fmt::format(": {}", text.error().message));
  return nhc::parse_config(file.string(), *text);
}

Report judge_as_asked(const CheckCommand& command, const std::optional<nhc::Config>& config,
                      const Snapshot& snapshot, const Profile& profile,
                      const nhc::Measured& measured) {
  auto selection = observed_for(command);
  selection.also.clear();
  auto report = config ? nhc::judge(snapshot, profile, *config, command.context, measured)
                       : judge(snapshot, profile, selection);
  if (command.format == Format::prometheus || command.verbose) {
    report.readings = readings_of(snapshot, profile, report);
  }
  return report;
}

Attempt<Inspected> inspect(const CheckCommand& command, const Caller& caller, Deadline& deadline) {
  TRY_ASSIGN(const auto lines, nhc_conf_of(command, size_of(command)));
  const ObservationRequest request{
      .profile = command.profile,
      .settings = command.settings,
      .root = command.root,
      .host = command.host,
      .nvml = command.nvml,
      .state = command.state,
      .context = command.context,
      .deadline = command.deadline,
      .probes = [&](const Profile* known) { return probes_for(command, lines, known); },
      .parts = parts_for(command, lines)};
  TRY_ASSIGN(auto observed, observe_node(request, caller.variables, caller.started, deadline));

  nhc::Measured measured;
  if (command.active && lines) {
    measured = run_benchmarks(*lines, observed.snapshot, bench_for(command, caller), deadline);
  }
  auto report =
      judge_as_asked(command, lines, observed.snapshot, observed.choice.profile, measured);
  report.profile_evidence = observed.choice.evidence;
  report.muster = kVersion;
  report.duration_ms = elapsed_ms(caller.started);
  return Inspected{.report = std::move(report), .observed = std::move(observed), .lines = lines};
}

Report judge_drained(const Inspected& inspected, const std::string& context,
                     const std::string& check) {
  const auto& snapshot = inspected.observed.snapshot;
  auto profile = inspected.observed.choice.profile;
  profile.contexts[context].gpus_idle = true;
  if (inspected.lines) return nhc::judge(snapshot, profile, *inspected.lines, context);
  return judge(snapshot, profile, {.context = context, .also = check});
}

std::string render(const Report& report, const CheckCommand& command, const Console& console,
                   bool stream) {
  const bool to_terminal = descriptor_named(command.output) == STDOUT_FILENO;
  const RenderOptions options{.verbose = command.verbose,
                              .quiet = command.quiet,
                              .colour = to_terminal && console.colour,
                              .width = to_terminal ? console.width : 0,
                              .all_values = command.all_values,
                              .indent = stream ? 0 : 2};
  return row_of(command.format).render(report, options);
}

void remember(const ObservedNode& observed, const Caller& caller, Deadline& deadline) {
  if (!observed.state_file) return;
  constexpr auto kLongest = std::chrono::seconds(2);
  constexpr auto kReserve = std::chrono::milliseconds(50);
  Children children;  // the file system may hang
  children.start("state", TimeLimit(kLongest).until(deadline.when() - kReserve), [&] {
    const auto written = write_state(*observed.state_file, observed.snapshot,
                                     observed.choice.profile.gpu->xid.of_programs);
    return written ? std::string() : written.error().message;
  });
  const auto answer = children.next().second;
  const auto& trouble = answer.end == ChildAnswer::End::answered ? answer.bytes : answer.reason;
  if (trouble.empty()) return;
  caller.console.note(
      fmt::format("muster: warning: cannot save the state of this run: {}", trouble));
}

int run_check(const CheckCommand& command, const Caller& caller, Deadline& deadline) {
  const auto inspected = inspect(command, caller, deadline);
  if (!inspected) return fail(caller, inspected.error());
  const auto& report = inspected->report;
  suggest_root(command, caller, report);
  const auto text = render(report, command, caller.console, false);
  const int status = deliver(caller, command.output, text, exit_status(report.verdict));
  const int saved = save(command, caller, inspected->observed.snapshot, status);
  remember(inspected->observed, caller, deadline);
  return saved;
}

Attempt<CheckedNode> check_node(const HookCommand& command, const std::string& drained_for,
                                const Caller& caller, Deadline& deadline) {
  const std::chrono::duration<double> allowed = deadline.when() - caller.started;
  const CheckCommand check{.profile = command.profile,
                           .context = command.context,
                           .settings = command.settings,
                           .nhc_conf = command.nhc_conf,
                           .root = command.root,
                           .nvml = command.nvml,
                           .state = command.state,
                           .deadline = Seconds{allowed.count()},
                           .verbose = true,  // with readings
                           .also = drained_for};
  TRY_ASSIGN(auto inspected, inspect(check, caller, deadline));
  if (!command.dry_run) remember(inspected.observed, caller, deadline);
  Clock::duration tested{};
  if (!command.tests.empty() && command.root == "/") {
    tested = add_node_tests(inspected.report, inspected.observed.snapshot, command.tests,
                            to_duration(command.tests_budget), bench_for(check, caller));
  }
  const auto shared = std::make_shared<const Inspected>(std::move(inspected));
  const auto& snapshot = shared->observed.snapshot;
  return CheckedNode{.report = shared->report,
                     .boot_id = snapshot.identity->boot_id ? *snapshot.identity->boot_id : "",
                     .identity = identity_of(snapshot),
                     .machine = machine_of(snapshot, command.root),
                     .judge_drained =
                         [shared, context = command.context](const std::string& drained_check) {
                           return judge_drained(*shared, context, drained_check);
                         },
                     .tested = tested};
}

Result<Report> sweep_node(const HookCommand& command, const std::string& level,
                          const Caller& caller, Clock::time_point until) {
  if (command.root != "/") return make_error("cannot measure a node below --root");
  auto bench = bench_for({.profile = command.profile, .settings = command.settings}, caller);
  bench.most_output = 8UL * 1024 * 1024;
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(until - Clock::now());
  const auto ended =
      run_bench(bench,
                {"node", fmt::format("--level={}", level),
                 fmt::format("--budget={}s", std::max<long>(left.count(), 1)), "--format=json"},
                until);
  return ended ? parse_report(ended->out) : tl::unexpected(ended.error());
}

}  // namespace muster::app
