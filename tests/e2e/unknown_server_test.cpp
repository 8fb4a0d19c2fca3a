// SPDX-License-Identifier: Apache-2.0
// A server without a profile, with each single fault: faults of devices that have equals are found
// under `generic`, and everything that such a machine shows is found under the profile that `muster
// profiles make` writes from the healthy node.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "checks/make_profile/make_profile.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

nodes::NodeDescription unknown_server() {
  auto node = node_named("bare_metal_h100");
  node.site.clear();
  node.system.dmi_vendor = "Example Servers";
  node.system.dmi_product = "GX-8 (rev. 2)";
  return node;
}

// Faults of devices that have equals; the others that `generic` finds are found by limits that hold
// anywhere.
const std::set<std::string_view>& with_peers() {
  static const std::set<std::string_view> names{
      "firmware_differs", "nvme_narrow",   "nvme_other_firmware", "nvme_small",
      "nvlink_down",      "nvlink_slow",   "port_down",           "gpu_half_width",
      "hca_half_width",   "hca_slow_link", "port_half_width",     "port_slow_lanes",
      "vbios_differs"};
  return names;
}

// Limits that a node cannot show: the site's wishes (parameters, NCCL's variables, Ethernet), and
// limits of another model.
const std::set<std::string_view>& set_by_the_site() {
  static const std::set<std::string_view> names{
      "carrier_flaps",       "command_line_parameter", "ethernet_down",          "gpu_hot",
      "load_left_behind",    "many_pages_retired",     "many_running",           "nccl_ib_disabled",
      "no_access_to_a_peer", "numa_sources_disagree",  "page_retirement_pending"};
  return names;
}

bool is_found(const Report& report, const nodes::Fault& fault) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    const bool counts = finding.outcome == fault.outcome || finding.outcome == Outcome::fail;
    return finding.check == fault.check && counts;
  });
}

class UnknownServer : public DiskTest {
 protected:
  UnknownServer() {
    stage_.show(render(unknown_server()));
    const auto seen = examine(stage_.root(), {.profile = "generic", .nvml = stage_.nvml()});
    profile_ = folder_.path() / "gx8.yaml";
    folder_.write("gx8.yaml", app::make_profile("gx8", {seen.snapshot}).yaml);
  }

  TempDir folder_;
  Stage stage_;
  std::string profile_;
};

TEST_F(UnknownServer, IsHealthyUnderGenericAndUnderItsOwnProfile) {
  for (const auto& profile : {std::string("generic"), profile_}) {
    const auto seen = examine(stage_.root(), {.profile = profile, .nvml = stage_.nvml()});
    EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
    EXPECT_EQ(seen.report.verdict, Verdict::healthy);
  }
}

TEST_F(UnknownServer, IsRecognisedByItsOwnProfile) {
  const TempDir site;
  auto tree = render(unknown_server());
  tree.file("etc/muster/profiles/gx8.yaml", output_of(fmt::format("cat {}", profile_)));
  stage_.show(std::move(tree));
  EXPECT_EQ(profile_of(stage_.root()), "gx8");
}

TEST_F(UnknownServer, ShowsEachFault) {
  std::set<std::string_view> shown;
  for (const auto& fault : nodes::all_faults()) {
    if (!nodes::make_faulty(unknown_server(), {&fault})) continue;
    shown.insert(fault.name);
    const auto own = examine_fault(stage_, unknown_server(), fault, profile_);
    EXPECT_NE(is_found(own.report, fault), set_by_the_site().contains(fault.name))
        << fault.name << ":\n"
        << explain(own.report);
    if (!with_peers().contains(fault.name)) continue;
    const auto generic = examine_fault(stage_, unknown_server(), fault, "generic");
    EXPECT_TRUE(is_found(generic.report, fault)) << fault.name << ":\n" << explain(generic.report);
  }
  EXPECT_GE(shown.size(), 100U);
  EXPECT_TRUE(std::ranges::includes(shown, with_peers()));
  EXPECT_TRUE(std::ranges::includes(shown, set_by_the_site()));
}

}  // namespace
}  // namespace muster::e2e
