// SPDX-License-Identifier: Apache-2.0
// The settings and libraries of jobs.

#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// env.nccl: NCCL's settings in files and the environment agree with each other and the profile, and
// none is harmful.

// The settings of each variable; the last one wins.
using NcclSettings = std::map<std::string, std::vector<NcclSetting>>;

NcclSettings by_name(const std::vector<NcclSetting>& settings) {
  NcclSettings result;
  for (const auto& setting : settings) result[setting.name].push_back(setting);
  return result;
}

// All unset variables share one finding, because one missing file causes it.
void judge_required_settings(const NcclSettings& settings,
                             const std::map<std::string, std::string>& required,
                             Findings& findings) {
  std::vector<std::string> unset;
  for (const auto& [name, value] : required) {
    const auto found = settings.find(name);
    if (found == settings.end()) {
      unset.push_back(fmt::format("{}={}", name, value));
      continue;
    }
    const auto& set = found->second.back();
    if (set.value == value) continue;
    findings.push_back(warned(
        name, fmt::format(R"({} is "{}" ({}), expected "{}")", name, set.value, set.origin, value),
        Remedy::fix_config, {set.value, value}));
  }
  if (unset.empty()) return;
  const std::string all = fmt::format("{}", fmt::join(unset, ", "));
  const std::string device =
      unset.size() == 1 ? unset.front().substr(0, unset.front().find('=')) : std::string(kNode);
  findings.push_back(warned(device,
                            fmt::format("not set in /etc/nccl.conf or the environment: {}", all),
                            Remedy::fix_config, {"", all}));
}

void judge_harmful(const NcclSettings& settings, const EnvNcclLimits& limits, Findings& findings) {
  for (const auto& [name, pattern] : limits.harmful) {
    const auto found = settings.find(name);
    if (found == settings.end() || limits.require.contains(name)) continue;
    const auto& set = found->second.back();
    if (!matches_glob(pattern, set.value)) continue;
    findings.push_back(warned(
        name,
        fmt::format("{}=\"{}\" ({}) is harmful on this kind of node", name, set.value, set.origin),
        Remedy::fix_config, {set.value, "unset"}));
  }
}

bool is_reported(const Findings& findings, std::string_view device) {
  return std::ranges::count(findings, device, &Finding::device) > 0;
}

// A file and the environment that contradict each other: one of them is a mistake.
void judge_contradictions(const NcclSettings& settings, Findings& findings) {
  for (const auto& [name, all] : settings) {
    const auto& weak = all.front();
    const auto& strong = all.back();
    if (weak.value == strong.value || is_reported(findings, name)) continue;
    findings.push_back(warned(name,
                              fmt::format(R"({} is "{}" in {} but "{}" in {}, which wins)", name,
                                          weak.value, weak.origin, strong.value, strong.origin),
                              Remedy::fix_config, {strong.value, weak.value}));
  }
}

// NCCL's syntax: a list of prefixes, "=" followed by exact names, or "^" followed by names to
// exclude.
bool names_interface(std::string_view wanted, const std::vector<Interface>& interfaces) {
  if (wanted.starts_with('^')) return true;
  const bool exact = wanted.starts_with('=');
  if (exact) wanted.remove_prefix(1);
  for (const auto word : split(wanted, ',')) {
    // Some lists have a port after a colon.
    const auto name = word.substr(0, word.find(':'));
    if (name.empty()) continue;
    const auto matches = [&](std::string_view interface) {
      return exact ? interface == name : interface.starts_with(name);
    };
    if (matches("lo") || std::ranges::any_of(interfaces, matches, &Interface::name)) return true;
  }
  return false;
}

void judge_socket_interface(const NcclSettings& settings, const Snapshot& snapshot,
                            Findings& findings) {
  constexpr std::string_view kName = "NCCL_SOCKET_IFNAME";
  const auto found = settings.find(std::string(kName));
  if (found == settings.end() || !snapshot.network.ok() || is_reported(findings, kName)) return;
  const auto& set = found->second.back();
  if (set.value.empty() || names_interface(set.value, snapshot.network->interfaces)) return;
  findings.push_back(
      warned(kName,
             fmt::format("{}=\"{}\" ({}) does not name a network interface of this node", kName,
                         set.value, set.origin),
             Remedy::fix_config, {set.value, "an interface that exists"}));
}

Findings judge_nccl(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.env->nccl;
  if (!snapshot.environment.ok()) {
    return {unknown(kNode,
                    fmt::format("NCCL's settings are unknown: {}", snapshot.environment.reason))};
  }
  if (!snapshot.environment->nccl)
    return {not_known(kNode, "the list of NCCL settings", snapshot.environment->nccl)};
  const auto settings = by_name(*snapshot.environment->nccl);
  if (settings.empty() && limits.require.empty()) {
    return {skipped("no NCCL settings, and none expected by this profile")};
  }
  Findings findings;
  judge_required_settings(settings, limits.require, findings);
  judge_harmful(settings, limits, findings);
  judge_contradictions(settings, findings);
  judge_socket_interface(settings, snapshot, findings);
  return or_pass(std::move(findings),
                 fmt::format("{} as expected, none harmful", counted(settings.size(), "setting")));
}

// env.libraries: the libraries that jobs need open, and NCCL is recent enough.

constexpr std::string_view kNccl = "libnccl.so";

Finding not_opened(const Library& library) {
  return warned(library.name, fmt::format("{} cannot be opened: {}", library.name, library.error),
                Remedy::fix_config, {false, true});
}

std::optional<Finding> judge_required_libraries(const std::vector<Library>& libraries,
                                                const std::string& name) {
  const auto library = std::ranges::find(libraries, name, &Library::name);
  if (library == libraries.end()) {
    return unknown(name, fmt::format("the snapshot does not include {}", name));
  }
  if (library->opened) return std::nullopt;
  return not_opened(*library);
}

// "2.28.3" as numbers; empty if invalid.
std::optional<std::vector<std::uint64_t>> numbers(std::string_view version) {
  std::vector<std::uint64_t> result;
  for (const auto part : split(version, '.')) {
    const auto number = parse_unsigned(part);
    if (!number) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

std::optional<Finding> judge_version(const Library& nccl, const std::string& least) {
  const auto have = numbers(nccl.version);
  const auto want = numbers(least);
  if (!have || !want) {
    return unknown(nccl.name, fmt::format(R"(cannot compare NCCL version "{}" with "{}")",
                                          nccl.version, least));
  }
  if (*have >= *want) return std::nullopt;
  return warned(nccl.name, fmt::format("NCCL is {}, expected at least {}", nccl.version, least),
                Remedy::fix_config, {nccl.version, least});
}

Findings judge_libraries(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.env->libraries;
  const auto& libraries = snapshot.environment->libraries;
  if (!libraries) {
    Finding finding = not_known(kNode, "the list of libraries", libraries);
    if (libraries.is_absent()) finding.outcome = Outcome::skip;
    return {finding};
  }

  Findings findings;
  for (const auto& name : limits.required)
    append(findings, judge_required_libraries(*libraries, name));
  std::size_t opened = 0;
  bool has_nccl = false;
  for (const auto& library : *libraries) {
    if (library.opened) ++opened;
    if (!limits.nccl_min || !library.name.starts_with(kNccl)) continue;
    has_nccl = true;
    if (library.opened) {
      append(findings, judge_version(library, *limits.nccl_min));
    } else if (std::ranges::count(limits.required, library.name) == 0) {
      findings.push_back(not_opened(library));
    }
  }
  if (limits.nccl_min && !has_nccl) {
    findings.push_back(
        unknown(kNccl, "the version of NCCL is unknown: the snapshot does not include it"));
  }
  if (findings.empty() && limits.required.empty() && !has_nccl) return {not_expected("library")};
  return or_pass(std::move(findings),
                 fmt::format("{} of {} libraries opened", opened, libraries->size()));
}

}  // namespace

constinit const Check env_nccl::check{
    .id = "env.nccl",
    .title = "NCCL's files, the environment and the profile agree",
    .why =
        "NCCL reads /etc/nccl.conf and the NCCL_* variables, which win. If the topology file is "
        "not set, a setting remains from an experiment (InfiniBand or peer-to-peer disabled, a "
        "fixed algorithm), or a socket interface does not exist, jobs are slow or hang at start.",
    .fix =
        "Restore /etc/nccl.conf from the image, and remove the variable from the prolog, the job "
        "script or the container's environment.",
    .needs = Probe::environment | Probe::network,
    .when_absent = WhenAbsent::judge,
    .judge = judge_nccl,
};

constinit const Check env_libraries::check{
    .id = "env.libraries",
    .title = "Libraries that jobs need open, and NCCL is recent enough",
    .why =
        "Opens each library that the profile requires, as a job would, and NCCL, whose version "
        "is compared if the profile sets one. Otherwise a driver update that left an old "
        "libcuda, or a missing libmlx5, is noticed only when a job starts. Libraries of a "
        "foreign root are not opened.",
    .fix =
        "Install the missing package, run ldconfig, and look at the file that the error names: "
        "often a dependency of the library.",
    .needs = Probe::environment,
    .judge = judge_libraries,
};

}  // namespace muster::checks
