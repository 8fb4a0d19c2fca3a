// SPDX-License-Identifier: Apache-2.0
#include "checks/run.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "checks/catalogue.hpp"
#include "lib/base/text.hpp"
#include "lib/node/parts.hpp"
#include "lib/profile/yaml.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongestDevice = 120;

// Below Resource.Hpc.Unhealthy.
constexpr auto kImpactCategories = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"NHC2001", "HpcGenericFailure"},
    {"NHC2002", "MissingIB"},
    {"NHC2003", "IBPerformance"},
    {"NHC2004", "IBPortDown"},
    {"NHC2005", "IBPortFlapping"},
    {"NHC2007", "HpcRowRemapFailure"},
    {"NHC2008", "HpcInforomCorruption"},
    {"NHC2009", "HpcMissingGpu"},
    {"NHC2010", "ManualInvestigation"},
    {"NHC2011", "XID95UncontainedECCError"},
    {"NHC2012", "XID94ContainedECCError"},
    {"NHC2013", "XID79FallenOffBus"},
    {"NHC2014", "XID48DoubleBitECC"},
    {"NHC2015", "UnhealthyGPUNvidiasmi"},
    {"NHC2016", "NvLink"},
    {"NHC2017", "HpcDcgmiThermalReport"},
    {"NHC2018", "ECCPageRetirementTableFull"},
    {"NHC2019", "DBEOverLimit"},
    {"NHC2020", "HpcGpuDcgmDiagFailure"},
    {"NHC2021", "GPUMemoryBWFailure"},
    {"NHC2022", "CPUPerformance"},
    {"NHC2023", "HpcGenericFailure"},
});

Context context_of(const Profile& profile, const std::string& name) {
  const auto found = profile.contexts.find(name);
  Context context = found == profile.contexts.end() ? Context{} : found->second;
  context.name = name;
  return context;
}

Outcome apply(const Policy& policy, Outcome outcome) {
  if (outcome == Outcome::fail) return policy.fail_as;
  return outcome == Outcome::warn ? policy.warn_as : outcome;
}

// One finding for all missing sections that the check needs.
Findings obstacles(const Snapshot& snapshot, const Check& check) {
  std::vector<std::string> reasons;
  bool skip = true;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (!check.needs.contains(probe) || section.ok()) return;
    const bool absent = section.status == Status::absent;
    // Nothing is known about a section that was not queried.
    if (absent && section.asked() && check.when_absent == WhenAbsent::judge) return;
    skip = skip && absent && check.when_absent == WhenAbsent::skip;
    reasons.push_back(why_missing(probe, section));
  });
  if (reasons.empty()) return {};
  return {{.device = "node",
           .outcome = skip ? Outcome::skip : Outcome::unknown,
           .message = fmt::format("{}{}", kNotJudged, fmt::join(reasons, "; "))}};
}

Findings findings_of(const Snapshot& snapshot, const Profile& profile, const Context& context,
                     const Check& check) {
  if (check.is_limited != nullptr && !check.is_limited(profile)) {
    return {{.device = "node", .outcome = Outcome::skip, .message = std::string(check.unlimited)}};
  }
  if (check.not_applicable != nullptr) {
    if (auto nothing = check.not_applicable(snapshot, profile)) return {*std::move(nothing)};
  }
  Findings findings = obstacles(snapshot, check);
  if (!findings.empty()) return findings;
  return check.judge_in != nullptr ? check.judge_in(snapshot, profile, context)
                                   : check.judge(snapshot, profile);
}

void clear_fault_code(Finding& finding) {
  finding.code.clear();
  finding.category.clear();
}

Findings judge_check(const Snapshot& snapshot, const Profile& profile, const Context& context,
                     const Check& check) {
  Findings findings = findings_of(snapshot, profile, context, check);
  if (findings.empty()) {
    findings.push_back(
        {.device = "node", .outcome = Outcome::unknown, .message = "the check judged nothing"});
  }
  const Policy policy = policy_of(profile, check.id);
  for (auto& finding : findings) {
    finding.check = check.id;
    finding.device = printable(finding.device, kLongestDevice);
    finding.message = printable(finding.message);
    const bool passes = finding.outcome == Outcome::pass;
    finding.outcome = apply(policy, finding.outcome);
    if (!passes && finding.outcome == Outcome::pass) finding.remedy = Remedy::none;
    if (finding.outcome == Outcome::fail) {
      if (finding.code.empty()) finding.code = check.code;
      if (finding.category.empty()) finding.category = impact_category(finding.code);
    } else {
      clear_fault_code(finding);
    }
  }
  return findings;
}

bool is_same_fault(const Finding& finding, const Finding& other) {
  if (rank(other.outcome) > rank(finding.outcome) || other.outcome == Outcome::unknown)
    return false;
  return std::ranges::any_of(finding.seen_by, [&](const SeenBy& seen) {
    return seen.check == other.check && matches_glob(seen.device, other.device);
  });
}

// One fault is one finding: if a check listed in `seen_by` reports the same fault at least as
// severely, this finding becomes a skip, and all findings that report it have the stronger remedy.
void merge_same_faults(Findings& findings) {
  for (Finding& finding : findings) {
    const bool concern = finding.outcome == Outcome::fail || finding.outcome == Outcome::warn;
    const Finding* other = nullptr;
    for (Finding& each : findings) {
      if (!concern || !is_same_fault(finding, each)) continue;
      each.remedy = stronger(each.remedy, finding.remedy);
      if (other == nullptr) other = &each;
    }
    if (other != nullptr) {
      finding.outcome = Outcome::skip;
      finding.message =
          fmt::format("the same fault as {} {}: {}", other->check, other->device, finding.message);
      finding.remedy = Remedy::none;
      clear_fault_code(finding);
    }
    finding.seen_by.clear();
  }
}

struct Subject {
  Probe probe;
  std::string_view what;
  std::string_view group;  // of `must_observe`, if any
};

// In the order of the probes.
constexpr std::array kSubjects{
    Subject{Probe::identity, "identity", "host"},
    Subject{Probe::cpu, "processors", "host"},
    Subject{Probe::memory, "memory", "host"},
    Subject{Probe::mounts, "mounts", "host"},
    Subject{Probe::disks, "disks", "host"},
    Subject{Probe::processes, "processes", "host"},
    Subject{Probe::kernel, "kernel", "host"},
    Subject{Probe::kernel_log, "kernel log", "host"},
    Subject{Probe::services, "services", "host"},
    Subject{Probe::network, "network", "host"},
    Subject{Probe::pci, "PCI bus", "pci"},
    Subject{Probe::infiniband, "InfiniBand", "ib"},
    Subject{Probe::verbs, "verbs", ""},
    Subject{Probe::topology, "topology", ""},
    Subject{Probe::environment, "environment", ""},
    Subject{Probe::nvml, "GPUs", "gpu"},
};

static_assert(kSubjects.size() == kProbeNames.size() &&
              std::ranges::is_sorted(kSubjects, {}, &Subject::probe));

// Hardware on the bus that could not be observed otherwise.
struct ShownByBus {
  bool any = false;
  bool ours = false;  // not only of another vendor, or with another driver (vfio-pci, nouveau)
};

ShownByBus shown_by_bus(const Snapshot& snapshot, Probe probe) {
  const bool gpus = probe == Probe::nvml;
  if (!gpus && probe != Probe::infiniband) return {};
  auto devices = devices_of(snapshot, gpus ? PciKind::gpu : PciKind::hca);
  // GPUs with the amdgpu driver are observed with the bus.
  std::erase_if(devices, [&](const PciDevice* device) {
    return std::ranges::count(snapshot.pci->amd_gpus, device->address, &AmdGpu::address) > 0;
  });
  const bool ours = std::ranges::any_of(devices, [&](const PciDevice* device) {
    if (!gpus) return device->driver != "vfio-pci";
    return is_nvidia_gpu(*device) && (device->driver.empty() || device->driver == "nvidia");
  });
  return {.any = !devices.empty(), .ours = ours};
}

// Empty if the section was observed.
template <class T>
std::optional<std::string> why_not(const Section<T>& section) {
  if (!section.asked()) return "not queried";
  if (!section.ok()) return section.reason;
  if constexpr (std::is_same_v<T, Nvml>) {
    if (!section->trouble.empty()) return section->trouble;
  }
  return std::nullopt;
}

// A missing NVML is an error only if its path was given.
bool is_named(const Snapshot& snapshot) {
  constexpr int kLibraryNotFound = 12;
  constexpr int kFunctionNotFound = 13;
  const int code = snapshot.nvml->trouble_code;
  return snapshot.nvml.ok() && (code == kLibraryNotFound || code == kFunctionNotFound);
}

// How the container was recognised; empty outside of containers.
std::string describe_container(const Fact<Container>& container) {
  if (!container) return {};
  return fmt::format("a container ({}) with namespaces of its own ({}): start it with --host",
                     fmt::join(container->recognised_by, ", "),
                     fmt::join(container->namespaces, ", "));
}

// The findings are sorted, worst first.
ByName<CheckValues> values_of(const Findings& findings) {
  ByName<CheckValues> values;
  for (const auto& finding : findings) {
    const auto number = number_of(finding.observed);
    if (!number || !is_judged(finding.outcome)) continue;
    auto& of_check =
        values.try_emplace(finding.check, CheckValues{.unit = finding.unit}).first->second;
    if (of_check.unit == finding.unit) of_check.by_device.try_emplace(finding.device, *number);
  }
  return values;
}

bool needed(const std::vector<const Check*>& checks, Probe probe) {
  return std::ranges::any_of(checks,
                             [&](const Check* check) { return check->needs.contains(probe); });
}

std::vector<const Check*> counted(const std::vector<const Check*>& selected,
                                  const Context& context) {
  std::vector<const Check*> checks = selected;
  std::erase_if(checks,
                [&](const Check* check) { return !matches_any(context.count_unknown, check->id); });
  return checks;
}

bool is_known_check(const std::string& entry) {
  if (names_check(entry)) return true;
  const bool is_glob = entry.find_first_of("*?") != std::string::npos;
  const auto dot = entry.find('.');
  const auto group = std::string_view(entry).substr(0, dot + 1);
  return is_glob && dot != std::string::npos &&
         std::ranges::any_of(check_ids(), [&](const auto& id) { return id.starts_with(group); });
}

tl::unexpected<Error> wrong(const Profile& profile, const std::string& path,
                            const std::string& entry, std::string_view kind,
                            const std::vector<std::string>& known) {
  const auto near = nearest(entry, known);
  return make_error("{}: '{}' names unknown {} \"{}\"{}", place_of_value(profile, path), path, kind,
                    printable(entry, 80),
                    near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

Result<void> check_context(const Profile& profile, const std::string& name,
                           const Context& context) {
  const std::array<std::pair<std::string_view, const Words*>, 3> lists{
      {{"run", &context.run}, {"skip", &context.skip}, {"count_unknown", &context.count_unknown}}};
  for (const auto& [key, entries] : lists) {
    const auto unknown = std::ranges::find_if_not(*entries, is_known_check);
    if (unknown == entries->end()) continue;
    return wrong(profile, fmt::format("contexts.{}.{}", name, key), *unknown, "check", check_ids());
  }
  return {};
}

}  // namespace

std::string impact_category(std::string_view code) {
  const auto* const found =
      std::ranges::find_if(kImpactCategories, [&](const auto& each) { return each.first == code; });
  if (found == kImpactCategories.end()) return {};
  return fmt::format("Resource.Hpc.Unhealthy.{}", found->second);
}

Policy policy_of(const Profile& profile, std::string_view id) {
  const auto found = profile.policies.find(id);
  return found == profile.policies.end() ? Policy{} : found->second;
}

std::vector<const Check*> select_checks(const Profile& profile, const Selection& selection) {
  const Context context = context_of(profile, selection.context);
  std::vector<const Check*> selected;
  for (const Check* check : checks::kAll) {
    const bool wanted = selection.only.empty() ? matches_any(context.run, check->id) &&
                                                     !matches_any(context.skip, check->id)
                                               : matches_any(selection.only, check->id);
    const bool runs = wanted || check->id == selection.also;
    if (!runs || matches_any(selection.skip, check->id)) continue;
    if (policy_of(profile, check->id).enabled) selected.push_back(check);
  }
  return selected;
}

ProbeSet probes_needed(const std::vector<const Check*>& checks) {
  ProbeSet needed;
  for (const Check* check : checks) needed = needed | check->needs | check->looks_at;
  // muster.probes alone needs all sections.
  const bool of_muster_alone = !checks.empty() && needed == ProbeSet();
  return of_muster_alone ? ProbeSet::all() : needed;
}

NvmlParts parts_asked(const std::vector<const Check*>& checks) {
  NvmlParts parts;
  for (const Check* check : checks) parts = parts | check->nvml_parts;
  return parts;
}

Findings judge_checks(const Snapshot& snapshot, const Profile& profile, const std::string& context,
                      const std::vector<const Check*>& checks) {
  const Context settings = context_of(profile, context);
  Findings all;
  for (const Check* check : checks) {
    std::ranges::move(judge_check(snapshot, profile, settings, *check), std::back_inserter(all));
  }
  merge_same_faults(all);
  return all;
}

Report judge(const Snapshot& snapshot, const Profile& profile, const Selection& selection) {
  Report report{.node = snapshot.identity->hostname,
                .profile = profile.name,
                .context = selection.context,
                .started = snapshot.taken,
                .physical_host = snapshot.identity->physical_host.value_or(""),
                .boot_id = snapshot.identity->boot_id.value_or(""),
                .parts = parts_of(snapshot),
                .stack = stack_of(snapshot),
                .container = describe_container(snapshot.identity->container)};
  const Context context = context_of(profile, selection.context);
  const auto selected = select_checks(profile, selection);
  std::vector<std::string> ids;
  for (const Check* check : selected) ids.emplace_back(check->id);
  report.findings = judge_checks(snapshot, profile, selection.context, selected);
  report.coverage.not_observed = not_observed(snapshot, profile, context, selected);
  conclude(report, ids, context.count_unknown);
  report.values = values_of(report.findings);
  report.groups = fold(report.findings, snapshot);
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (!section.asked()) return;
    report.probes.push_back({.name = std::string(to_string(probe)),
                             .status = std::string(to_string(section.status)),
                             .duration_ms = section.duration_ms,
                             .reason = section.reason});
  });
  return report;
}

std::vector<NotObserved> not_observed(const Snapshot& snapshot, const Profile& profile,
                                      const Context& context,
                                      const std::vector<const Check*>& selected) {
  std::vector<NotObserved> gaps;
  const auto counting = counted(selected, context);
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    const auto why = why_not(section);
    if (!why || !needed(selected, probe)) return;
    const auto& subject = kSubjects.at(static_cast<std::size_t>(probe));
    const auto on_bus = shown_by_bus(snapshot, probe);
    const bool named = probe == Probe::nvml && is_named(snapshot);
    // A library given by path is required, unless the profile expects no GPUs.
    const bool expected = std::ranges::count(profile.must_observe, subject.group) > 0 ||
                          on_bus.ours || (named && profile.gpu->present.count.value_or(1) > 0);
    const bool nothing_to_see = section.ok() || section.status == Status::absent;
    if (nothing_to_see && !expected && !on_bus.any && !named) return;
    gaps.push_back({.what = std::string(subject.what),
                    .reason = printable(*why),
                    .required = expected && needed(counting, probe)});
  });
  return gaps;
}

Result<void> check_names(const Profile& profile) {
  for (const auto& [name, context] : profile.contexts) {
    if (auto done = check_context(profile, name, context); !done) return done;
  }
  const std::vector<std::string> probes(kProbeNames.begin(), kProbeNames.end());
  for (const auto& probe : profile.muster->probes.fatal) {
    if (std::ranges::count(probes, probe) > 0) continue;
    return wrong(profile, "muster.probes.fatal", probe, "probe", probes);
  }
  return {};
}

Result<Profile> read_profile_of(const ProfileSources& sources, std::string_view name) {
  auto profile = load_profile(sources, name);
  if (!profile) return profile;
  if (auto known = check_names(*profile); !known) return tl::unexpected(known.error());
  return profile;
}

const std::vector<std::string>& check_ids() {
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> all;
    for (const Check* check : checks::kAll) all.emplace_back(check->id);
    return all;
  }();
  return ids;
}

bool names_check(std::string_view glob) {
  return std::ranges::any_of(check_ids(),
                             [&](const std::string& id) { return matches_glob(glob, id); });
}

}  // namespace muster
