// SPDX-License-Identifier: Apache-2.0
// The list of all faults, and rendering a node with some of them.
#include "tests/nodes/faults.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "tests/nodes/needed.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> faults = [] {
    std::vector<Fault> all;
    for (const auto& table :
         {host_faults(), device_faults(), gpu_faults(), infiniband_faults(), incident_faults()}) {
      all.insert(all.end(), table.begin(), table.end());
    }
    return all;
  }();
  return faults;
}

const Fault* find_fault(std::string_view name) {
  const auto& faults = all_faults();
  const auto found = std::ranges::find(faults, name, &Fault::name);
  return found == faults.end() ? nullptr : &*found;
}

bool changes_node(const Fault& fault) {
  return !std::holds_alternative<std::monostate>(fault.change) &&
         !std::holds_alternative<void (*)(Tree&)>(fault.change);
}

void change_node(const Fault& fault, NodeDescription& node) {
  // "gpu3", "mlx5_ib3"
  const auto part = [&](auto& parts) -> auto& {
    const auto digits = fault.device.find_last_not_of("0123456789") + 1;
    return parts.at(std::stoul(std::string(fault.device.substr(digits))));
  };
  if (const auto* whole = std::get_if<void (*)(NodeDescription&)>(&fault.change)) {
    (*whole)(node);
  } else if (const auto* gpu = std::get_if<void (*)(Gpu&)>(&fault.change)) {
    (*gpu)(part(node.gpus).facts);
  } else if (const auto* line = std::get_if<LogLine>(&fault.change)) {
    log(node, std::string(line->text), line->level);
  } else if (const auto* hca = std::get_if<void (*)(HcaDescription&)>(&fault.change)) {
    (*hca)(part(node.hcas));
  } else if (const auto* amd = std::get_if<void (*)(AmdGpu&)>(&fault.change)) {
    const auto found = std::ranges::find_if(
        node.amd_gpus, [&](const auto& each) { return each.pci.address == fault.device; });
    (*amd)(node.amd_gpus.at(static_cast<std::size_t>(found - node.amd_gpus.begin())).facts);
  }
}

Tree render_with(NodeDescription node, const std::vector<const Fault*>& faults) {
  for (const auto* fault : faults) {
    change_node(*fault, node);
    node.system.uptime_s += fault->earlier_s;
  }
  auto tree = render(node);
  for (const auto* fault : faults) {
    const auto* damage = std::get_if<void (*)(Tree&)>(&fault->change);
    if (damage != nullptr) (*damage)(tree);
    if (fault->damage != nullptr) fault->damage(tree);
  }
  return tree;
}

Result<Tree> make_faulty(const NodeDescription& node, const std::vector<const Fault*>& faults) {
  std::optional<Tree> tree;
  std::vector<const Fault*> made;
  for (const auto* fault : faults) {
    made.push_back(fault);
    const auto refused = [&](std::string_view why) {
      return make_error("{} is made for {}, and {} {}", fault->name, fault->node, node.name, why);
    };
    try {
      tree = render_with(node, made);
    } catch (const std::exception&) {  // thrown by needed.hpp
      return refused("lacks what it changes");
    }
    auto healthy = node;
    healthy.system.uptime_s += fault->earlier_s;
    const bool is_alone = made.size() == 1;
    if ((is_alone ? *tree : render_with(node, {fault})) == render(healthy)) {
      return refused("stays as it is");
    }
  }
  return tree ? *std::move(tree) : render(node);
}

Tree render_earlier(NodeDescription node, const Fault& fault) {
  if (fault.lasting) change_node(fault, node);
  return render(node);
}

}  // namespace muster::nodes
