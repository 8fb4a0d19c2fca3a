// SPDX-License-Identifier: Apache-2.0
// Single faults of a node: what is changed about a healthy one, and the one finding that muster has
// to make of it. Adding a fault is one entry in a table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/report/finding.hpp"
#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"

namespace muster::nodes {

// The nodes that faults are made on.
inline constexpr std::string_view kV100 = "nd40rs_v2";
inline constexpr std::string_view kA100 = "nd96asr_v4";
inline constexpr std::string_view kH100 = "nd96isr_h100_v5";
inline constexpr std::string_view kMi300x = "nd96isr_mi300x_v5";
inline constexpr std::string_view kBareMetal = "bare_metal_h100";

// What the finding says in values.
struct Saying {
  Value observed{};
  Value limit{};
  Remedy remedy = Remedy::none;
};

struct Fault {
  std::string_view name;
  std::string_view node;    // the node it is made on
  std::string_view check;   // what must say so,
  std::string_view device;  // about which device,
  Outcome outcome = Outcome::fail;
  void (*change)(NodeDescription& node) = nullptr;
  void (*damage)(Tree& tree) = nullptr;  // what no description says: after rendering
  // Only a rate or a duration shows it: the node was seen `earlier_s` before, healthy, or with the
  // same fault where it is one that must last.
  double earlier_s = 0;
  bool lasting = false;
  std::optional<Saying> says{};  // where it is compared
};

// Every table together.
[[nodiscard]] const std::vector<Fault>& all_faults();
// Null when there is no such fault.
[[nodiscard]] const Fault* find_fault(std::string_view name);

// The node with these faults, which are made on such a node, and the same node as it was seen
// `earlier_s` before.
[[nodiscard]] Tree render_with(NodeDescription node, const std::vector<const Fault*>& faults);
[[nodiscard]] Tree render_earlier(NodeDescription node, const Fault& fault);

// Any node with any faults: an error where the node lacks what one of them changes, or they change
// nothing about it.
[[nodiscard]] Result<Tree> make_faulty(const NodeDescription& node,
                                       const std::vector<const Fault*>& faults);

// The tables, by area.
[[nodiscard]] std::vector<Fault> host_faults();
[[nodiscard]] std::vector<Fault> system_faults();
[[nodiscard]] std::vector<Fault> device_faults();
[[nodiscard]] std::vector<Fault> gpu_faults();
[[nodiscard]] std::vector<Fault> amd_faults();
[[nodiscard]] std::vector<Fault> gpu_memory_faults();  // part of gpu_faults()
[[nodiscard]] std::vector<Fault> gpu_link_faults();
[[nodiscard]] std::vector<Fault> infiniband_faults();
[[nodiscard]] std::vector<Fault> incident_faults();

}  // namespace muster::nodes
