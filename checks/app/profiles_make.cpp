// SPDX-License-Identifier: Apache-2.0
// `muster profiles make NAME`: makes a profile from this node, or from the majority of snapshots.
// Leaves out sick nodes: their faults would become the expected values.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "checks/app/commands.hpp"
#include "checks/app/observe_node.hpp"
#include "checks/make_profile/devices.hpp"
#include "checks/make_profile/make_profile.hpp"
#include "checks/names.hpp"
#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"

namespace muster::app {
namespace {

struct Source {
  std::string name;  // the file, or the node's
  Snapshot snapshot;
};

Result<void> check_name(const ProfileSources& sources, const std::string& name) {
  const bool plain = !name.empty() && name.front() != '.' && name.front() != '-' &&
                     std::ranges::all_of(name, [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
                     });
  if (!plain || name.ends_with(".yaml")) {
    return make_error(fmt::format(
        "invalid profile name \"{}\", expected letters, digits, _, - and ., such as trainer_h100",
        printable(name, 80)));
  }
  ProfileSources shipped = sources;
  shipped.site.clear();
  TRY_ASSIGN(const auto known, profile_names(shipped));
  const auto wanted = plain_profile_name(name);
  const bool taken = std::ranges::any_of(
      known, [&](const std::string& each) { return plain_profile_name(each) == wanted; });
  if (wanted == kDefaults || taken) {
    return make_error(fmt::format("muster ships a profile named {}; choose another name", name));
  }
  return {};
}

// Why this node is unfit for making a profile; empty if it is fit.
std::string why_unfit(const Source& source, const Profile& generic) {
  const auto& node = source.snapshot;
  for (const auto& [probe, ok, reason] :
       {std::tuple("cpu", node.cpu.ok(), node.cpu.reason),
        std::tuple("memory", node.memory.ok(), node.memory.reason),
        std::tuple("pci", node.pci.ok(), node.pci.reason)}) {
    if (!ok) return fmt::format("the {} probe failed: {}", probe, reason);
  }
  if (gpu_count(node).value_or(0) == 0 && node.nvml.ok() && !node.nvml->gpus.empty()) {
    return "NVML lists GPUs, but the PCI bus none";
  }
  const auto report = judge(node, generic, {});
  if (report.verdict != Verdict::unhealthy) return {};
  for (const auto& finding : report.findings) {
    if (finding.outcome != Outcome::fail) continue;
    return fmt::format("it is sick: {} {}: {}", finding.check, finding.device, finding.message);
  }
  return "it is sick";
}

Attempt<std::vector<Source>> observed_here(const ProfilesCommand& command, const Caller& caller,
                                           Deadline& deadline) {
  const ObservationRequest request{
      .profile = "generic",
      .root = command.root,
      .nvml = command.nvml,
      .probes = [](const Profile* /*known*/) { return ProbeSet::all(); }};
  TRY_ASSIGN(auto observed, observe_node(request, caller.variables, caller.started, deadline));
  std::vector<Source> sources(1);
  sources.front() = {.name = "this node", .snapshot = std::move(observed.snapshot)};
  return sources;
}

Attempt<std::vector<Source>> read_snapshots(const ProfilesCommand& command) {
  const auto files = snapshot_files(command.snapshots);
  if (!files) return undecided(files.error());
  std::vector<Source> sources;
  for (const auto& file : *files) {
    auto snapshot = read_snapshot(file);
    if (!snapshot) return undecided(snapshot.error());
    sources.push_back({.name = printable(file), .snapshot = std::move(*snapshot)});
  }
  return sources;
}

// Returns the healthy nodes if they are the majority.
Attempt<std::vector<Snapshot>> fit_nodes(std::vector<Source> sources, const Profile& generic,
                                         const Caller& caller) {
  std::vector<Snapshot> fit;
  std::string last;
  for (auto& source : sources) {
    const auto why = why_unfit(source, generic);
    if (why.empty()) {
      fit.push_back(std::move(source.snapshot));
      continue;
    }
    last = fmt::format("{}: {}", source.name, why);
    caller.console.note(fmt::format("muster: skipping {}", last));
  }
  if (fit.size() * 2 > sources.size()) return fit;
  return tl::unexpected(
      Failure{.status = kExitUnhealthy,
              .message = fmt::format("most nodes are unfit to make a profile: {}", last)});
}

}  // namespace

int run_make_profile(const ProfilesCommand& command, const Caller& caller, Deadline& deadline) {
  const auto sources = sources_of(caller.variables, command.root, {});
  if (auto named = check_name(sources, command.make); !named) {
    return fail(caller, {.status = kExitUsage, .message = named.error().message});
  }
  const auto generic = read_profile_of(sources, "generic");
  if (!generic) return fail(caller, bad_configuration(generic.error()).value());
  auto nodes = command.snapshots.empty() ? observed_here(command, caller, deadline)
                                         : read_snapshots(command);
  if (!nodes) return fail(caller, nodes.error());
  const auto fit = fit_nodes(std::move(*nodes), *generic, caller);
  if (!fit) return fail(caller, fit.error());
  const auto made = make_profile(command.make, *fit);
  for (const auto& each : made.missing) {
    caller.console.note(fmt::format("muster: not set: {}", printable(each)));
  }
  constexpr unsigned kReadable = 0644;
  return deliver(caller, command.output, made.yaml, kExitHealthy, kReadable);
}

}  // namespace muster::app
