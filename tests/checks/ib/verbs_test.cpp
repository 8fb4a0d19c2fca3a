// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"

namespace muster::ib_verbs_test {
namespace {

Expected failed(std::string device, Remedy remedy = Remedy::fix_config) {
  return {.device = std::move(device), .outcome = Outcome::fail, .remedy = remedy};
}

TEST(IbVerbsTest, JudgesOneChange) {
  expect_findings(
      checks::ib_verbs::check, ib_node::node(), ib_node::profile(),
      {
          {"passes when every HCA opens and agrees", [](Snapshot&) {}, {passes()}},
          {"fails an HCA that the library does not list",
           [](Snapshot& node) { node.verbs->devices.erase(node.verbs->devices.begin() + 1); },
           {failed("mlx5_ib1")}},
          {"fails once when the library lists none",
           [](Snapshot& node) { node.verbs->devices.clear(); },
           {failed("node")}},
          {"fails an HCA that does not open",
           [](Snapshot& node) {
             node.verbs->devices.at(1).ports =
                 Fact<std::vector<VerbsPort>>::unreadable("open mlx5_ib1: Permission denied");
             node.verbs->devices.at(1).registers =
                 Fact<bool>::unreadable("open mlx5_ib1: Permission denied");
           },
           {failed("mlx5_ib1")}},
          {"fails a port that verbs and sysfs describe differently",
           [](Snapshot& node) {
             (*node.verbs->devices.at(1).ports).at(0).width = 2;
             (*node.verbs->devices.at(1).ports).at(0).lid = 7;
           },
           {failed("mlx5_ib1", Remedy::reboot)}},
          {"leaves a port that is down to ib.state",
           [](Snapshot& node) { ib_node::port_of(node, 1).state = 1U; },
           {passes()}},
          {"fails an HCA that registers no memory",
           [](Snapshot& node) {
             node.verbs->devices.at(1).registers =
                 Fact<bool>::unreadable("register memory on mlx5_ib1: Cannot allocate memory");
           },
           {failed("mlx5_ib1")}},
          {"leaves a low limit of locked memory to host.limits",
           [](Snapshot& node) {
             node.kernel = observed(Kernel{.limits = {.memlock_bytes = std::string("65536")}});
             node.verbs->devices.at(1).registers =
                 Fact<bool>::unreadable("register memory on mlx5_ib1: Cannot allocate memory");
           },
           {passes()}},
          {"skips below a foreign root",
           [](Snapshot& node) {
             node.identity->foreign_root = true;
             node.verbs = {.status = Status::absent, .reason = "a foreign root"};
           },
           {skips()}},
          {"fails once on a live node without the kernels interface",
           [](Snapshot& node) {
             node.verbs = {.status = Status::absent, .reason = "ib_uverbs is not loaded"};
           },
           {failed("node", Remedy::restart_service)}},
      });
}

}  // namespace
}  // namespace muster::ib_verbs_test
