// SPDX-License-Identifier: Apache-2.0
// NCCL's settings, from its files and the environment, agree with each other and with the profile,
// and none is left set that hurts.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/environment.hpp"

namespace muster::checks::env_nccl {
namespace {

// Each variable's settings in order of strength: the last one is in force.
using Settings = std::map<std::string, std::vector<NcclSetting>>;

Settings by_name(const std::vector<NcclSetting>& settings) {
  Settings result;
  for (const auto& setting : settings) result[setting.name].push_back(setting);
  return result;
}

// Required variables: those not set at all are one finding, as one missing file is one fault.
void judge_required(const Settings& settings, const std::map<std::string, std::string>& required,
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

void judge_harmful(const Settings& settings, const EnvNcclLimits& limits, Findings& findings) {
  for (const auto& [name, pattern] : limits.harmful) {
    const auto found = settings.find(name);
    if (found == settings.end() || limits.require.contains(name)) continue;
    const auto& set = found->second.back();
    if (!matches_glob(pattern, set.value)) continue;
    findings.push_back(warned(
        name,
        fmt::format("{}=\"{}\" ({}) hurts jobs on this kind of node", name, set.value, set.origin),
        Remedy::fix_config, {set.value, "unset"}));
  }
}

bool said(const Findings& findings, std::string_view device) {
  return std::ranges::count(findings, device, &Finding::device) > 0;
}

// A file and the environment that contradict each other: one of the two is not what somebody meant.
void judge_contradictions(const Settings& settings, Findings& findings) {
  for (const auto& [name, all] : settings) {
    const auto& weak = all.front();
    const auto& strong = all.back();
    if (weak.value == strong.value || said(findings, name)) continue;
    findings.push_back(warned(name,
                              fmt::format(R"({} is "{}" in {} and "{}" in {}, which wins)", name,
                                          weak.value, weak.origin, strong.value, strong.origin),
                              Remedy::fix_config, {strong.value, weak.value}));
  }
}

// NCCL's rule: a list of prefixes; after "=" of exact names, after "^" of what not to use.
bool names_interface(std::string_view wanted, const std::vector<Interface>& interfaces) {
  if (wanted.starts_with('^')) return true;
  const bool exact = wanted.starts_with('=');
  if (exact) wanted.remove_prefix(1);
  for (const auto word : split(wanted, ',')) {
    // Some lists carry a port after a colon.
    const auto name = word.substr(0, word.find(':'));
    if (name.empty()) continue;
    const auto is_meant = [&](std::string_view interface) {
      return exact ? interface == name : interface.starts_with(name);
    };
    if (is_meant("lo") || std::ranges::any_of(interfaces, is_meant, &Interface::name)) return true;
  }
  return false;
}

void judge_interface(const Settings& settings, const Snapshot& snapshot, Findings& findings) {
  constexpr std::string_view kName = "NCCL_SOCKET_IFNAME";
  const auto found = settings.find(std::string(kName));
  if (found == settings.end() || !snapshot.network.ok() || said(findings, kName)) return;
  const auto& set = found->second.back();
  if (set.value.empty() || names_interface(set.value, snapshot.network->interfaces)) return;
  findings.push_back(warned(kName,
                            fmt::format("{}=\"{}\" ({}) names no network interface of this node",
                                        kName, set.value, set.origin),
                            Remedy::fix_config, {set.value, "an interface that exists"}));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.env->nccl;
  if (!snapshot.environment.ok()) {
    return {unknown(kNode,
                    fmt::format("NCCL's settings are not known: {}", snapshot.environment.reason))};
  }
  if (!snapshot.environment->nccl)
    return {not_known(kNode, "what steers NCCL", snapshot.environment->nccl)};
  const auto settings = by_name(*snapshot.environment->nccl);
  if (settings.empty() && limits.require.empty()) {
    return {skipped("no NCCL setting is made here, and none expected by this profile")};
  }
  Findings findings;
  judge_required(settings, limits.require, findings);
  judge_harmful(settings, limits, findings);
  judge_contradictions(settings, findings);
  judge_interface(settings, snapshot, findings);
  return or_pass(std::move(findings), fmt::format("{} as expected, none that hurts",
                                                  counted(settings.size(), "setting")));
}

}  // namespace

constinit const Check check{
    .id = "env.nccl",
    .title = "NCCL's files, the environment and the profile agree",
    .why =
        "NCCL reads /etc/nccl.conf and the NCCL_* variables, which win. A topology file that is "
        "not named, a setting left over from an experiment (InfiniBand or peer-to-peer disabled, a "
        "fixed algorithm), or a socket interface that does not exist makes jobs slow, or hang at "
        "their start.",
    .fix =
        "Restore /etc/nccl.conf as the image writes it, and remove the variable from the prolog, "
        "the job script or the container's environment.",
    .needs = Probe::environment | Probe::network,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::env_nccl
