// SPDX-License-Identifier: Apache-2.0
// Groups findings that have one cause but affect many devices or checks.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "checks/run.hpp"
#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kFewest = 3;  // fewer are not grouped, unless they are all

// The devices of one kind.
struct Family {
  std::string name;  // "GPUs", "HCAs", "mounts of nfs1"; empty for devices that are not grouped
  std::size_t total = 0;  // of this node; 0 if unknown

  auto operator<=>(const Family&) const = default;
};

using Devices = std::vector<const PciDevice*>;

// Null for devices that are not on the bus.
const PciDevice* on_bus(const Snapshot& snapshot, const std::string& name) {
  if (const auto* device = device_at(snapshot, name)) return device;
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (name == fmt::format("gpu{}", gpu.index)) return device_at(snapshot, gpu.address);
  }
  for (const auto& hca : snapshot.infiniband->hcas) {
    if (name == hca.name) return device_at(snapshot, hca.address.value_or(""));
  }
  return nullptr;
}

// Empty for devices that are not grouped.
std::string_view plural_of(PciKind kind) {
  // In the order of the enumeration.
  constexpr std::array<std::string_view, kPciKindWords.size()> kPlurals{
      "GPUs", "NVSwitches", "HCAs", "", "NVMe controllers", ""};
  return kPlurals.at(static_cast<std::size_t>(kind));
}

bool is_gpu_name(std::string_view name) {
  return name.starts_with("gpu") && name.size() > 3 && parse_unsigned(name.substr(3));
}

// "nfs1" of "nfs1:/export/home".
std::string server_of(std::string_view source) {
  const auto colon = source.find(":/");
  return std::string(colon == std::string_view::npos ? "" : source.substr(0, colon));
}

Family family_of_mount(const Snapshot& snapshot, const std::string& point) {
  const auto& mounts = snapshot.mounts->mounts;
  const auto mount = std::ranges::find(mounts, point, &Mount::point);
  const auto server = mount == mounts.end() ? std::string() : server_of(mount->source);
  if (server.empty()) return {};
  const auto same = std::ranges::count_if(
      mounts, [&](const Mount& each) { return server_of(each.source) == server; });
  return {.name = fmt::format("mounts of {}", printable(server, 80)),
          .total = static_cast<std::size_t>(same)};
}

Family family_of(const Snapshot& snapshot, const std::string& device) {
  if (const auto* found = on_bus(snapshot, device)) {
    return {.name = std::string(plural_of(found->kind)),
            .total = devices_of(snapshot, found->kind).size()};
  }
  if (is_gpu_name(device)) return {.name = "GPUs", .total = snapshot.nvml->gpus.size()};
  return family_of_mount(snapshot, device);
}

std::string without_serial(std::string message) {
  constexpr std::string_view kSerial = " (serial ";
  const auto begin = message.find(kSerial);
  const auto end = message.find(')', begin);
  if (begin != std::string::npos && end != std::string::npos) {
    message.erase(begin, end + 1 - begin);
  }
  return message;
}

// The properties that only these devices of their kind share; may be empty.
std::string shared_by(const Snapshot& snapshot, const Devices& devices) {
  if (std::ranges::count(devices, nullptr) > 0) return "";
  const auto others = [&] {
    auto all = devices_of(snapshot, devices.front()->kind);
    std::erase_if(all, [&](const auto* each) { return std::ranges::count(devices, each) > 0; });
    return all;
  }();
  const auto only_these = [&](const auto& holds) {
    return std::ranges::all_of(devices, holds) && std::ranges::none_of(others, holds);
  };
  for (const auto& bridge : devices.front()->upstream) {
    const auto behind = [&](const PciDevice* each) {
      return std::ranges::count(each->upstream, bridge) > 0;
    };
    if (only_these(behind)) return fmt::format("those behind PCI bridge {}", bridge);
  }
  const auto& node = devices.front()->numa_node;
  const auto same_node = [&](const PciDevice* each) {
    return each->numa_node && *each->numa_node == *node;
  };
  if (node && *node >= 0 && only_these(same_node)) {
    return fmt::format("those of NUMA node {}", *node);
  }
  return "";
}

std::vector<std::string> names_of(const std::vector<const Finding*>& findings) {
  std::vector<std::string> names;
  for (const auto* finding : findings) names.push_back(finding->device);
  return names;
}

std::string message_of(const std::vector<const Finding*>& findings, const Family& family,
                       const Snapshot& snapshot) {
  const auto first = without_serial(findings.front()->message);
  const bool alike = std::ranges::all_of(
      findings, [&](const Finding* each) { return without_serial(each->message) == first; });
  auto message =
      alike ? first : fmt::format("{}: {}; the others too", findings.front()->device, first);
  if (findings.size() == family.total) {
    if (family.name != "GPUs") return message;
    return fmt::format("{}; all of them: first check what they share (driver, power, cooling)",
                       message);
  }
  Devices devices;
  for (const auto* finding : findings) devices.push_back(on_bus(snapshot, finding->device));
  const auto shared = shared_by(snapshot, devices);
  return fmt::format("{}: {}{}{}", fmt::join(names_of(findings), ", "), message,
                     shared.empty() ? "" : "; these are ", shared);
}

std::string subject_of(std::size_t count, const Family& family) {
  if (family.total < count) return fmt::format("{} {}", count, family.name);
  return fmt::format("{} of {} {}", count, family.total, family.name);
}

FindingGroup group_of(const std::vector<const Finding*>& findings, std::string subject,
                      std::string message) {
  FindingGroup group{.subject = std::move(subject), .message = std::move(message)};
  for (const auto* finding : findings) group.members.push_back({finding->check, finding->device});
  return group;
}

// Equal findings about devices of one kind, in the order of their first.
std::vector<FindingGroup> fold_devices(const std::vector<Finding>& findings,
                                       const Snapshot& snapshot) {
  using Key = std::tuple<std::string, Outcome, Remedy, std::string, Family, std::string>;
  std::map<Key, std::vector<const Finding*>> alike;
  std::vector<Key> order;
  for (const auto& finding : findings) {
    if (rank(finding.outcome) >= rank(Outcome::pass)) continue;
    const auto family = family_of(snapshot, finding.device);
    if (family.name.empty()) continue;
    Key key{finding.check, finding.outcome, finding.remedy, finding.code, family, form_of(finding)};
    auto& members = alike[key];
    if (members.empty()) order.push_back(key);
    members.push_back(&finding);
  }
  std::vector<FindingGroup> groups;
  for (const auto& key : order) {
    const auto& members = alike[key];
    const auto& family = std::get<Family>(key);
    const bool all = members.size() > 1 && members.size() == family.total;
    if (!all && members.size() < kFewest) continue;
    groups.push_back(group_of(members, subject_of(members.size(), family),
                              message_of(members, family, snapshot)));
  }
  return groups;
}

// "/proc" of "open /proc/meminfo: No such file or directory"; empty for other errors.
std::string missing_tree(std::string_view reason) {
  const auto path = reason.find('/');
  if (path == std::string_view::npos || reason.find("No such file") == std::string_view::npos) {
    return "";
  }
  const auto end = reason.find('/', path + 1);
  return end == std::string_view::npos ? "" : std::string(reason.substr(path, end - path));
}

// Why probes failed: the missing trees, or else the first reason.
std::string cause_of_silence(const Snapshot& snapshot) {
  std::vector<std::string> silent;
  std::set<std::string> trees;
  std::string first;
  bool all_of_trees = true;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (section.status != Status::error && section.status != Status::timeout) return;
    silent.emplace_back(to_string(probe));
    if (first.empty()) first = section.reason;
    auto tree = missing_tree(section.reason);
    all_of_trees = all_of_trees && !tree.empty();
    if (!tree.empty()) trees.insert(std::move(tree));
  });
  if (silent.empty()) return "their probes were not run";
  const auto probes =
      fmt::format("the probe{} {}", silent.size() == 1 ? "" : "s", fmt::join(silent, ", "));
  if (trees.size() > 0 && (all_of_trees || trees.size() > 1)) {
    return fmt::format("{} found no files below {}", probes, fmt::join(trees, ", "));
  }
  return fmt::format("{} could not observe: {}", probes, first);
}

// Groups all checks that could not judge.
std::vector<FindingGroup> fold_silence(const std::vector<Finding>& findings,
                                       const Snapshot& snapshot) {
  std::vector<const Finding*> members;
  std::set<std::string_view> checks;
  for (const auto& finding : findings) {
    const bool of_probes = finding.check == "muster.probes";
    if (finding.outcome != Outcome::unknown) continue;
    if (!of_probes && !finding.message.starts_with(kNotJudged)) continue;
    members.push_back(&finding);
    if (!of_probes) checks.insert(finding.check);
  }
  if (checks.size() < kFewest) return {};
  return {group_of(members, fmt::format("{} checks", checks.size()),
                   fmt::format("not judged: {}", cause_of_silence(snapshot)))};
}

// Members are identified by check and device, so a check with two findings about one device is not
// grouped.
bool is_clear(const FindingGroup& group, const std::vector<Finding>& findings) {
  return std::ranges::all_of(group.members, [&](const SeenBy& member) {
    return std::ranges::count_if(findings, [&](const Finding& each) {
             return each.check == member.check && each.device == member.device;
           }) == 1;
  });
}

}  // namespace

std::string form_of(const Finding& finding) {
  const auto message = without_serial(finding.message);
  std::string form;
  std::string_view rest = message;
  while (!rest.empty()) {
    if (!finding.device.empty() && rest.starts_with(finding.device)) {
      form.push_back('@');
      rest.remove_prefix(finding.device.size());
      continue;
    }
    const auto digits = std::min(rest.find_first_not_of("0123456789abcdefABCDEF"), rest.size());
    const auto word = rest.substr(0, std::max<std::size_t>(digits, 1));
    form += word.find_first_of("0123456789") == std::string_view::npos ? word : "#";
    rest.remove_prefix(word.size());
  }
  return form;
}

std::vector<FindingGroup> fold(const std::vector<Finding>& findings, const Snapshot& snapshot) {
  auto groups = fold_devices(findings, snapshot);
  auto silence = fold_silence(findings, snapshot);
  std::ranges::move(silence, std::back_inserter(groups));
  std::erase_if(groups, [&](const auto& group) { return !is_clear(group, findings); });
  return groups;
}

}  // namespace muster
