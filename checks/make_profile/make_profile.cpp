// SPDX-License-Identifier: Apache-2.0
#include "checks/make_profile/make_profile.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "checks/make_profile/draft.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

// The median, because the size varies a little between nodes.
YamlValue usual_memory(const std::vector<Snapshot>& nodes) {
  constexpr std::uint64_t kMebi = 1024UL * 1024;
  std::vector<std::uint64_t> totals;
  for (const auto& node : nodes) {
    if (node.memory->total_bytes) totals.push_back(*node.memory->total_bytes);
  }
  if (totals.empty()) return std::nullopt;
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(totals.size() / 2);
  std::ranges::nth_element(totals, middle);
  return fmt::format("{} MiB", *middle / kMebi);
}

// Returns a glob that matches the text.
YamlValue glob(const std::optional<std::string>& text) {
  if (!text || trim(*text).empty()) return std::nullopt;
  std::string pattern(trim(*text));
  std::ranges::replace_if(
      pattern, [](char c) { return c == '*' || c == '[' || c == ']' || c == '\\'; }, '?');
  return yaml_text(pattern);
}

void add_recognise(ProfileDraft& draft, const YamlValue& memory) {
  draft.add_if_known("recognise.dmi_vendor",
                     [](const Snapshot& node) { return glob(hardware_of(node).dmi_vendor); });
  draft.add_if_known("recognise.dmi_product",
                     [](const Snapshot& node) { return glob(hardware_of(node).dmi_product); });
  draft.add_if_known("recognise.gpu_pci_ids", [](const Snapshot& node) -> YamlValue {
    std::vector<std::string> ids;
    for (const auto& [id, count] : compute_gpus(node).value_or(GpuIds{})) {
      ids.push_back(yaml_text(id));
    }
    return flow_list(ids);
  });
  draft.add("recognise.infiniband", [](const Snapshot& node) -> YamlValue {
    const auto hcas = hardware_of(node).infiniband_hcas;
    if (!hcas) return std::nullopt;
    return *hcas > 0 ? "true" : "false";
  });
  draft.add_if_known("recognise.gpus",
                     [](const Snapshot& node) { return yaml_value(gpu_count(node)); });
  draft.add("recognise.hcas",
            [](const Snapshot& node) { return yaml_value(hardware_of(node).infiniband_hcas); });
  draft.add("recognise.cores", [](const Snapshot& node) { return yaml_value(node.cpu->cores); });
  draft.add("recognise.memory", [&](const Snapshot& /*node*/) { return memory; });
}

YamlValue numa_nodes(const Snapshot& node) {
  if (!node.cpu->numa_nodes) return std::nullopt;
  return fmt::format("{}", std::ranges::count_if(*node.cpu->numa_nodes, [](const NumaNode& each) {
                       return each.cpus && !each.cpus->empty();
                     }));
}

YamlValue huge_pages(const Snapshot& node) {
  if (!node.memory->huge_pages) return std::nullopt;
  std::vector<std::string> pages;
  for (const auto& each : *node.memory->huge_pages) {
    if (!each.total) return std::nullopt;
    pages.push_back(fmt::format("{{size: {} KiB, count: {}}}", each.size_kib, *each.total));
  }
  return flow_list(pages);
}

// The names of `known` that the node has.
template <std::size_t kSize>
YamlValue known_among(const Fact<std::vector<std::string>>& names,
                      const std::array<std::string_view, kSize>& known) {
  if (!names) return std::nullopt;
  std::vector<std::string> found;
  for (const auto name : known) {
    if (std::ranges::count(*names, name) > 0) found.emplace_back(name);
  }
  return flow_list(found);
}

constexpr std::array<std::string_view, 6> kServices{"slurmd.service",
                                                    "munge.service",
                                                    "nvidia-fabricmanager.service",
                                                    "nvidia-persistenced.service",
                                                    "nvidia-imex.service",
                                                    "chronyd.service"};
constexpr std::array<std::string_view, 7> kModules{
    "nvidia_uvm", "nvidia_peermem", "mlx5_ib", "ib_uverbs", "ib_umad", "amdgpu", "lustre"};

YamlValue interfaces(const Snapshot& node) {
  if (!node.network.ok()) return std::nullopt;
  constexpr unsigned kEthernet = 1;
  std::vector<std::string> names;
  for (const auto& each : node.network->interfaces) {
    const bool real = each.address.known() || !each.hca.empty();
    if (!real || each.type.value_or(0) != kEthernet || each.operstate.value_or("") != "up") {
      continue;
    }
    // The hypervisor numbers PCI domains differently on each machine: enP45110s1.
    const bool is_vm = node.identity->hypervisor;
    if (is_vm && !each.hca.empty()) {
      names.push_back(fmt::format("{{name: {}, rdma: true}}", yaml_text(each.hca)));
      continue;
    }
    if (is_vm && each.name.starts_with("enP")) continue;
    const auto speed =
        each.speed_mbps ? fmt::format(", speed: {} Mb/s", *each.speed_mbps) : std::string();
    names.push_back(fmt::format("{{name: {}{}}}", yaml_text(each.name), speed));
  }
  return flow_list(names);
}

void add_host(ProfileDraft& draft, const YamlValue& memory) {
  draft.add("host.cpu.sockets", [](const Snapshot& node) { return yaml_value(node.cpu->sockets); });
  draft.add("host.cpu.cores", [](const Snapshot& node) { return yaml_value(node.cpu->cores); });
  draft.add("host.cpu.threads", [](const Snapshot& node) { return yaml_value(node.cpu->threads); });
  draft.add("host.cpu.numa_nodes", numa_nodes);
  draft.add("host.memory.total", [&](const Snapshot& /*node*/) { return memory; });
  draft.add("host.swap.total", [](const Snapshot& node) -> YamlValue {
    const auto& total = node.memory->swap_total_bytes;
    return total ? fmt::format("{} KiB", *total / 1024) : YamlValue();
  });
  draft.add_if_known("host.hugepages.pages", huge_pages);
  draft.add_if_known("host.nvme.count", [](const Snapshot& node) -> YamlValue {
    if (!node.disks.ok() || node.disks->nvme.empty()) return std::nullopt;
    return fmt::format("{}", node.disks->nvme.size());
  });
  draft.add_if_known("host.services.active", [](const Snapshot& node) {
    return known_among(node.services->active, kServices);
  });
  draft.add_if_known("host.modules.required", [](const Snapshot& node) {
    return known_among(node.kernel->modules, kModules);
  });
  draft.add_if_known("host.limits.memlock_unlimited", [](const Snapshot& node) -> YamlValue {
    if (node.kernel->limits.memlock_bytes.value_or("") != "unlimited") return std::nullopt;
    return "true";
  });
  draft.add_if_known("host.ethernet.interfaces", interfaces);
}

std::string first_lines(std::string_view name, const std::vector<Snapshot>& nodes) {
  const auto& first = nodes.front();
  const bool gpus = gpu_count(first).value_or(0) > 0;
  const bool hcas = hardware_of(first).infiniband_hcas.value_or(0) > 0;
  std::vector<std::string> groups{"host"};
  if (gpus || hcas) groups.emplace_back("pci");
  if (gpus && has_nvml_gpus(first)) groups.emplace_back("gpu");
  if (hcas) groups.emplace_back("ib");
  const auto from =
      nodes.size() == 1 ? first.identity->hostname : fmt::format("{} nodes", nodes.size());
  std::string text = fmt::format("schema: {}\nname: {}\nsummary: {}\nsource: {}\n", kProfileSchema,
                                 yaml_text(name), yaml_text(summary_of(first)),
                                 yaml_text(fmt::format("muster profiles make, from {}", from)));
  const auto day = first.taken.substr(0, std::min<std::size_t>(first.taken.find('T'), 10));
  if (!day.empty()) text += fmt::format("as_of: {}\n", yaml_text(day));
  return text + fmt::format("must_observe: {}\n", *flow_list(groups));
}

}  // namespace

MadeProfile make_profile(std::string_view name, const std::vector<Snapshot>& nodes) {
  ProfileDraft draft(nodes);
  const auto memory = usual_memory(nodes);
  add_recognise(draft, memory);
  add_host(draft, memory);
  add_devices(draft);
  std::string text = first_lines(name, nodes);
  text += draft.yaml();
  auto missing = draft.missing();
  if (gpu_count(nodes.front()).value_or(0) > 0 && !has_nvml_gpus(nodes.front())) {
    missing.emplace_back("gpu: NVML reports no GPUs, so only their number is set");
  }
  if (!missing.empty()) {
    text += "\n# Unknown values; set them by hand if they matter:\n";
    for (const auto& each : missing) text += fmt::format("# - {}\n", printable(each));
  }
  return {.yaml = std::move(text), .missing = std::move(missing)};
}

std::string yaml_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text, 200)) {
    if (c == '"' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  result.push_back('"');
  return result;
}

YamlValue flow_list(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  return fmt::format("[{}]", fmt::join(words, ", "));
}

YamlValue flow_map(const std::vector<std::string>& entries) {
  if (entries.empty()) return std::nullopt;
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

void ProfileDraft::add(std::string_view path, const ValueOf& value_of, bool must_know) {
  std::map<std::string, std::size_t> counts;
  for (const auto& node : nodes_) {
    if (const auto value = value_of(node)) ++counts[*value];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  if (most == counts.end()) {
    if (must_know) missing_.push_back(fmt::format("{}: unknown", path));
    return;
  }
  if (most->second * 2 <= nodes_.size()) {
    std::vector<std::string> values;
    for (const auto& [value, count] : counts)
      values.push_back(fmt::format("{} x {}", count, value));
    missing_.push_back(fmt::format("{}: the nodes differ ({})", path, fmt::join(values, "; ")));
    return;
  }
  auto from = nodes_.size() == 1 ? std::string("this node")
                                 : fmt::format("{} of {} nodes", most->second, nodes_.size());
  lines_.push_back({std::string(path), most->first, std::move(from)});
}

std::string ProfileDraft::yaml() const {
  std::string text;
  std::vector<std::string_view> open;
  for (const auto& line : lines_) {
    const auto parts = split(line.path, '.');
    std::size_t depth = 0;
    while (depth + 1 < parts.size() && depth < open.size() && open[depth] == parts[depth]) ++depth;
    open.resize(depth);
    for (; depth + 1 < parts.size(); ++depth) {
      if (depth == 0) text.push_back('\n');
      text += fmt::format("{:{}}{}:\n", "", depth * 2, parts[depth]);
      open.push_back(parts[depth]);
    }
    text += fmt::format("{:{}}{}: {}  # {}\n", "", depth * 2, parts.back(), line.value, line.from);
  }
  return text;
}

}  // namespace muster::app
