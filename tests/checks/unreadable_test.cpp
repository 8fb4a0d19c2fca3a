// SPDX-License-Identifier: Apache-2.0
// A fact that could not be read never counts as good: a healthy node with one unreadable fact about
// its GPUs is not healthy.

#include <set>

#include "checks/run.hpp"
#include "lib/profile/load.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/support/saved_node.hpp"

namespace muster::unreadable_test {
namespace {

// Makes each known fact unreadable, calls visit(path), and restores the fact.
template <class Visit>
struct FactVisitor {
  const Visit& visit;

  template <Described T>
  void operator()(T& value, const std::string& path) const {
    for_each_field<T>([&](const auto& field) {
      (*this)(value.*field.member, fmt::format("{}.{}", path, field.name));
    });
  }

  template <class T>
  void operator()(Fact<T>& fact, const std::string& path) const {
    if (!fact) return;
    const Fact<T> saved = fact;
    fact = unreadable();
    visit(path);
    fact = saved;
    (*this)(*fact, path);
  }

  // One item, so that its peers stay readable.
  template <class T>
  void operator()(std::vector<T>& items, const std::string& path) const {
    if (!items.empty()) (*this)(items.at(items.size() / 2), path);
  }

  template <class T>
  void operator()(std::map<std::string, T>& items, const std::string& path) const {
    for (auto& [name, item] : items) (*this)(item, fmt::format("{}.{}", path, name));
  }

  template <class T>
  void operator()(T& /*value*/, const std::string& /*path*/) const {}
};

// Eight GPUs, and the counters of an earlier run.
Snapshot healthy_node() {
  Snapshot node = saved_node("simulated/nd96isr_h100_v5");
  node.nvml = linked_node::node_of(8).nvml;
  const auto on_bus = devices_of(node, PciKind::gpu);
  auto address = on_bus.begin();
  for (auto& gpu : node.nvml->gpus) gpu.address = (*address++)->address;
  for (auto& gpu : node.nvml->gpus) {
    for (const auto& peer : node.nvml->gpus) {
      if (peer.address != gpu.address) (*gpu.peers)[peer.address] = 0;
    }
  }
  node.nvml->driver = "550.54.15"s;
  node.nvml->cuda = 12040U;
  linked_node::all_seen_before(node);
  return node;
}

Profile profile_of_node() {
  return load_profile({.shipped = fmt::format("{}/configs/profiles", MUSTER_SOURCE_DIR)},
                      "nd96isr_h100_v5")
      .value_or(Profile{});
}

// How many findings keep the node from being healthy.
std::size_t objections(const Snapshot& node, const Profile& profile) {
  const auto report = judge(node, profile, {.context = "boot", .only = {"gpu.*"}});
  return static_cast<std::size_t>(std::ranges::count_if(report.findings, [](const Finding& each) {
    return each.outcome == Outcome::fail || each.outcome == Outcome::unknown;
  }));
}

TEST(UnreadableTest, NoFactOfAGpuThatCouldNotBeReadCountsAsGood) {
  Snapshot node = healthy_node();
  const Profile profile = profile_of_node();
  ASSERT_EQ(objections(node, profile), 0U);
  std::set<std::string> ignored;
  const auto visit = [&](const std::string& path) {
    if (objections(node, profile) == 0) ignored.insert(path);
  };
  const FactVisitor<decltype(visit)> each{visit};
  each(node.nvml.facts, "nvml");
  const std::set<std::string> not_judged{
      // Only shown.
      "nvml.cuda", "nvml.gpus.architecture", "nvml.gpus.clocks.performance_state",
      "nvml.gpus.power.usage_mw",
      // Judged by another counter.
      "nvml.gpus.ecc_aggregate.dram_uncorrected", "nvml.gpus.ecc_aggregate.sram_uncorrected",
      "nvml.gpus.ecc_volatile.dram_corrected", "nvml.gpus.ecc_volatile.sram_corrected",
      // The profile has the limit, or its pair is known.
      "nvml.gpus.clocks.default_sm_mhz", "nvml.gpus.power.default_mw", "nvml.gpus.link.generation",
      "nvml.gpus.link.generation_max", "nvml.gpus.link.width", "nvml.gpus.link.width_max",
      // Read in one call with a fact that is judged.
      "nvml.gpus.firmware.gsp_default", "nvml.gpus.memory.reserved"};
  EXPECT_EQ(ignored, not_judged);
}

}  // namespace
}  // namespace muster::unreadable_test
