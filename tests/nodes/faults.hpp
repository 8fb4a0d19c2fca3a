// SPDX-License-Identifier: Apache-2.0
// Single faults of a node: a change to a healthy node, and the one finding it must lead to. To add
// a fault, add an entry to a table; tests/nodes/golden has the finding's text and values.
#pragma once

#include <span>
#include <string_view>
#include <variant>
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

// A line of the kernel log.
struct LogLine {
  std::string_view text;
  unsigned level = 3;
};

// A change of the node, of the GPU or HCA that is the fault's device, or of the rendered tree.
using Change = std::variant<std::monostate, void (*)(NodeDescription&), void (*)(Gpu&),
                            void (*)(AmdGpu&), void (*)(HcaDescription&), LogLine, void (*)(Tree&)>;

struct Fault {
  std::string_view name;
  std::string_view node;    // the node that gets the fault
  std::string_view check;   // the check that must find it,
  std::string_view device;  // on this device
  Outcome outcome = Outcome::fail;
  Change change{};
  void (*damage)(Tree& tree) = nullptr;  // in addition to a change of the node
  // For faults that only a rate or a duration shows: the node was observed `earlier_s` before,
  // healthy, or with the same fault if it is `lasting`.
  double earlier_s = 0;
  bool lasting = false;
};

// Whether the fault changes the description of a node, not only the rendered tree.
[[nodiscard]] bool changes_node(const Fault& fault);
// Changes the description. Like at(), throws if the node lacks the fault's device.
void change_node(const Fault& fault, NodeDescription& node);

// A fault that makes `check` fail, warn or be unknown on `device`.
[[nodiscard]] constexpr Fault fails(std::string_view name, std::string_view node,
                                    std::string_view check, std::string_view device,
                                    Change change) {
  return {name, node, check, device, Outcome::fail, change};
}
[[nodiscard]] constexpr Fault warns(std::string_view name, std::string_view node,
                                    std::string_view check, std::string_view device,
                                    Change change) {
  return {name, node, check, device, Outcome::warn, change};
}
[[nodiscard]] constexpr Fault is_unknown(std::string_view name, std::string_view node,
                                         std::string_view check, std::string_view device,
                                         Change change) {
  return {name, node, check, device, Outcome::unknown, change};
}
// The same on a node that was observed `earlier_s` before: healthy, or with the same fault.
[[nodiscard]] constexpr Fault seen_before(double earlier_s, Fault fault) {
  fault.earlier_s = earlier_s;
  return fault;
}
[[nodiscard]] constexpr Fault lasting(double earlier_s, Fault fault) {
  fault.lasting = true;
  return seen_before(earlier_s, fault);
}

// All tables together.
[[nodiscard]] const std::vector<Fault>& all_faults();
// Null if there is no such fault.
[[nodiscard]] const Fault* find_fault(std::string_view name);

// Renders the fault's own node with these faults, and the same node as it was `earlier_s` before.
[[nodiscard]] Tree render_with(NodeDescription node, const std::vector<const Fault*>& faults);
[[nodiscard]] Tree render_earlier(NodeDescription node, const Fault& fault);

// Renders any node with any faults. Fails if the node lacks the part that a fault changes, or if
// nothing changes.
[[nodiscard]] Result<Tree> make_faulty(const NodeDescription& node,
                                       const std::vector<const Fault*>& faults);

// The tables, by area.
[[nodiscard]] std::span<const Fault> host_faults();
[[nodiscard]] std::span<const Fault> device_faults();
[[nodiscard]] std::span<const Fault> gpu_faults();
[[nodiscard]] std::span<const Fault> infiniband_faults();
[[nodiscard]] std::span<const Fault> incident_faults();

}  // namespace muster::nodes
