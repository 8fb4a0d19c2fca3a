// SPDX-License-Identifier: Apache-2.0
#include "checks/app/fleet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/command/options.hpp"
#include "lib/fleet/odd.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/report/summary.hpp"

namespace muster::app {
namespace {

constexpr std::size_t kMaxCauses = 10;
constexpr std::size_t kMaxOdd = 12;
constexpr std::size_t kIndent = 9;

using Names = std::vector<std::string>;

// Nothing is left out unless the text is for a terminal.
std::size_t shown_of(std::size_t count, std::size_t most, std::size_t width) {
  return width == 0 ? count : std::min(count, most);
}

// The distinct values of each fact of a node and its devices.
std::map<std::string, std::string> facts_of(const Snapshot& snapshot) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  std::map<std::string, std::set<std::string>> values;
  const auto add_value = [&](const std::string& name, const auto& value) {
    values[name].insert(printable(fmt::format("{}", value), 60));
  };
  const auto add = [&](const std::string& name, const auto& fact) {
    if (fact) add_value(name, *fact);
  };
  if (snapshot.nvml.ok() && snapshot.nvml->trouble.empty()) {
    add("driver", snapshot.nvml->driver);
    add_value("GPUs", snapshot.nvml->gpus.size());
    for (const auto& gpu : snapshot.nvml->gpus) {
      add("GPU model", gpu.model);
      add("VBIOS", gpu.firmware.vbios);
      add("GPU clock (MHz)", gpu.clocks.application_sm_mhz);
      const auto& limit = gpu.power.enforced_mw;
      if (limit) add_value("GPU power limit (W)", *limit / 1000);
    }
  }
  if (snapshot.infiniband.ok()) {
    add_value("HCAs", snapshot.infiniband->hcas.size());
    for (const auto& hca : snapshot.infiniband->hcas) {
      // Adapters of different types have different firmware.
      const auto type = hca.type.value_or("");
      add(type.empty() ? "HCA firmware" : fmt::format("firmware of {}", printable(type, 40)),
          hca.firmware);
    }
  }
  add("kernel", snapshot.kernel->release);
  add("cores", snapshot.cpu->cores);
  if (const auto& total = snapshot.memory->total_bytes) {
    // The firmware reserves a varying part of it.
    const double rounded = 8 * std::round(static_cast<double>(*total) / kGib / 8);
    add_value("memory", fmt::format("{:.0f} GiB", rounded));
  }
  std::map<std::string, std::string> texts;
  for (const auto& [name, all] : values) texts[name] = fmt::format("{}", fmt::join(all, " and "));
  return texts;
}

FleetNode::Cause cause_of(const Finding& finding) {
  FleetNode::Cause cause{
      .outcome = finding.outcome,
      .key = fmt::format("{} {}", finding.check, form_of(finding)),
      .what = fmt::format("{}: {}", finding.check, printable(finding.message, 1000))};
  if (finding.device != "node") cause.devices = {printable(finding.device, 60)};
  return cause;
}

void add_cause(FleetNode& node, FleetNode::Cause cause) {
  const auto known = std::ranges::find(node.causes, cause.key, &FleetNode::Cause::key);
  if (known == node.causes.end()) {
    node.causes.push_back(std::move(cause));
    return;
  }
  known->varies = known->varies || cause.varies || cause.what != known->what;
  for (auto& device : cause.devices) {
    if (std::ranges::count(known->devices, device) == 0) known->devices.push_back(device);
  }
}

// "n[0021-0022]"; on a terminal only the first ones of a long list.
std::string some_of(const Names& names, std::size_t width) {
  constexpr std::size_t kMax = 48;
  auto folded = fold_hostlist(names);
  if (width == 0 || folded.size() <= kMax) return printable(folded);
  std::string text;
  std::size_t shown = 0;
  for (const auto& name : names) {
    if (text.size() + name.size() + 2 > kMax && shown > 0) break;
    text += fmt::format("{}{}", shown == 0 ? "" : ", ", printable(name, 60));
    ++shown;
  }
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

std::string totals(const std::vector<FleetNode>& nodes, std::size_t unread) {
  const auto count = [&](Verdict verdict) {
    return std::ranges::count(nodes, verdict, &FleetNode::verdict);
  };
  std::string text = fmt::format("fleet    {}: {} healthy, {} unhealthy, {} unknown",
                                 counted(nodes.size(), "node"), count(Verdict::healthy),
                                 count(Verdict::unhealthy), count(Verdict::unknown));
  if (unread > 0) text += fmt::format("; {} could not be read or judged", unread);
  return fmt::format("{}\n", text);
}

struct FleetCause {
  Outcome outcome = Outcome::fail;
  std::string what;
  std::string from;     // the node and device that `what` is about
  bool varies = false;  // on other devices in serial numbers, times or values
  Names nodes;
  std::map<std::string, Names> by_devices;  // the nodes with the same devices
};

// Worst outcome first, then most nodes.
std::vector<FleetCause> causes_of_fleet(const std::vector<FleetNode>& nodes) {
  std::vector<FleetCause> all;
  std::map<std::pair<Outcome, std::string>, std::size_t> places;
  for (const auto& node : nodes) {
    for (const auto& cause : node.causes) {
      const auto [place, is_new] = places.try_emplace({cause.outcome, cause.key}, all.size());
      if (is_new) {
        const auto device = cause.devices.empty() ? "" : fmt::format(" {}", cause.devices.front());
        all.push_back({.outcome = cause.outcome,
                       .what = cause.what,
                       .from = fmt::format("{}{}", node.name, device)});
      }
      auto& known = all[place->second];
      known.varies = known.varies || cause.varies || cause.what != known.what;
      known.nodes.push_back(node.name);
      known.by_devices[fmt::format("{}", fmt::join(cause.devices, ", "))].push_back(node.name);
    }
  }
  std::ranges::stable_sort(all, [](const FleetCause& a, const FleetCause& b) {
    if (a.outcome != b.outcome) return rank(a.outcome) < rank(b.outcome);
    return a.nodes.size() > b.nodes.size();
  });
  return all;
}

// "n[0021-0022] gpu3; n0023 gpu5", or only the nodes if there are too many devices.
std::string places_of(const FleetCause& cause, std::size_t width) {
  constexpr std::size_t kMax = 48;
  std::vector<std::string> places;
  for (const auto& [devices, names] : cause.by_devices) {
    places.push_back(fmt::format("{}{}{}", printable(fold_hostlist(names)),
                                 devices.empty() ? "" : " ", devices));
  }
  auto text = fmt::format("{}", fmt::join(places, "; "));
  return width == 0 || text.size() <= kMax ? text : some_of(cause.nodes, width);
}

std::string causes_table(const std::vector<FleetNode>& nodes, std::size_t width) {
  const auto all = causes_of_fleet(nodes);
  const auto shown = shown_of(all.size(), kMaxCauses, width);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& cause = all[i];
    const auto what = cause.varies
                          ? fmt::format("{} (as on {})", cause.what, printable(cause.from, 120))
                          : cause.what;
    text += fmt::format("{:7}  {}\n{:9}{}: {}\n", to_string(cause.outcome),
                        wrapped(what, kIndent, width), "", counted(cause.nodes.size(), "node"),
                        places_of(cause, width));
  }
  if (all.size() > shown) {
    text += fmt::format("{:9}and {} more causes\n", "", all.size() - shown);
  }
  return text;
}

std::string odd_table(const std::vector<FleetNode>& nodes, std::size_t width) {
  constexpr std::size_t kFewest = 3;  // with only two nodes, neither is the odd one
  std::vector<fleet::NodeFacts> compared;
  for (const auto& node : nodes) compared.push_back({node.name, node.profile, node.facts});
  const auto odd = fleet::find_odd_facts(compared, kFewest);
  const auto shown = shown_of(odd.size(), kMaxOdd, width);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& each = odd[i];
    const auto line = fmt::format("{} {}, most have {}: {}", each.fact, each.value, each.usual,
                                  each.nodes.size() == 1
                                      ? printable(each.nodes.front(), 60)
                                      : fmt::format("{}: {}", counted(each.nodes.size(), "node"),
                                                    some_of(each.nodes, width)));
    text += fmt::format("odd      {}\n", wrapped(line, kIndent, width));
  }
  if (odd.size() > shown) text += fmt::format("{:9}and {} more\n", "", odd.size() - shown);
  return text;
}

}  // namespace

FleetNode fleet_node(const Report& report) {
  FleetNode node{.name = report.node == "" ? report.snapshot : name_of(report),
                 .profile = report.profile,
                 .verdict = report.verdict};
  if (report.verdict == Verdict::healthy) return node;
  const auto worst = report.verdict == Verdict::unhealthy ? Outcome::fail : Outcome::unknown;
  for (const auto& finding : report.findings) {
    if (finding.outcome == worst) add_cause(node, cause_of(finding));
  }
  for (const auto& gap : report.coverage.not_observed) {
    if (!gap.required || report.verdict != Verdict::unknown) continue;
    const auto what = fmt::format("not observed: {}", gap.what);
    add_cause(node, {.outcome = Outcome::unknown, .key = what, .what = what});
  }
  return node;
}

FleetNode fleet_node(const Snapshot& snapshot, const Report& report) {
  auto node = fleet_node(report);
  node.facts = facts_of(snapshot);
  node.from_report = false;
  return node;
}

std::vector<FleetNode> merge_nodes(const std::vector<FleetNode>& nodes) {
  const auto severity = [](Verdict verdict) {
    return verdict == Verdict::unhealthy ? 2 : verdict == Verdict::unknown ? 1 : 0;
  };
  std::vector<FleetNode> merged;
  std::map<std::string, std::size_t> places;
  for (const auto& node : nodes) {
    const auto [place, is_new] = places.try_emplace(node.name, merged.size());
    if (is_new || (!node.from_report && !merged[place->second].from_report)) {
      merged.push_back(node);
      continue;
    }
    auto& known = merged[place->second];
    known.from_report = known.from_report && node.from_report;
    if (severity(node.verdict) > severity(known.verdict)) known.verdict = node.verdict;
    for (const auto& cause : node.causes) add_cause(known, cause);
    if (known.facts.empty()) known.profile = node.profile;
    known.facts.insert(node.facts.begin(), node.facts.end());
  }
  return merged;
}

std::string fleet_table(const std::vector<FleetNode>& nodes, std::size_t unread,
                        std::size_t width) {
  const auto merged = merge_nodes(nodes);
  return fmt::format("{}{}{}", totals(merged, unread), causes_table(merged, width),
                     odd_table(merged, width));
}

}  // namespace muster::app
