// SPDX-License-Identifier: Apache-2.0
#include "checks/app/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "checks/app/commands.hpp"
#include "checks/app/observe_node.hpp"
#include "checks/app/run_benchmarks.hpp"
#include "checks/nhc_conf/judge.hpp"
#include "checks/run.hpp"
#include "lib/base/root.hpp"
#include "lib/command/version.hpp"
#include "lib/process/child.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/site.hpp"
#include "lib/state/state.hpp"

namespace muster::app {
namespace {

using Lines = std::optional<nhc::Config>;

Selection selection_of(const CheckCommand& command) {
  return {.context = command.context, .only = command.only, .skip = command.skip};
}

Selection observed_for(const CheckCommand& command) {
  auto selection = selection_of(command);
  selection.also = command.also;
  return selection;
}

// Observes everything for a snapshot that is saved, and everything that any profile may run before
// the profile is known.
ProbeSet probes_for(const CheckCommand& command, const Lines& lines, const Profile* profile) {
  if (!command.save_snapshot.empty()) return ProbeSet::all();
  if (lines) return nhc::needs_of(*lines, command.active).probes;
  if (profile != nullptr) {
    return probes_needed(select_checks(*profile, observed_for(command)));
  }
  if (command.only.empty()) return ProbeSet::all();
  return probes_needed(select_checks(Profile{}, observed_for(command)));
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
  return probe_identity(*root)->instance_size;
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

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
  if (config) return nhc::judge(snapshot, profile, *config, command.context, measured);
  return judge(snapshot, profile, selection_of(command));
}

Attempt<Inspected> inspect(const CheckCommand& command, const Caller& caller, Deadline& deadline) {
  TRY_ASSIGN(const auto lines, nhc_conf_of(command, size_of(command)));
  const ObservationRequest request{
      .profile = command.profile,
      .settings = command.settings,
      .root = command.root,
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
  report.duration_ms = milliseconds_since(caller.started);
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
      fmt::format("muster: warning: cannot write the state of this run: {}", trouble));
}

}  // namespace muster::app
