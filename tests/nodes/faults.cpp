// SPDX-License-Identifier: Apache-2.0
// The list of all faults, and rendering a node with some of them.
#include "tests/nodes/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

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

Tree render_with(NodeDescription node, const std::vector<const Fault*>& faults) {
  for (const auto* fault : faults) {
    if (fault->change != nullptr) fault->change(node);
    node.system.uptime_s += fault->earlier_s;
  }
  auto tree = render(node);
  for (const auto* fault : faults) {
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
      return make_error(
          fmt::format("{} is made for {}, and {} {}", fault->name, fault->node, node.name, why));
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
  if (fault.lasting && fault.change != nullptr) fault.change(node);
  return render(node);
}

}  // namespace muster::nodes
