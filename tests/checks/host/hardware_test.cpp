// SPDX-License-Identifier: Apache-2.0
// Processors, memory errors and temperatures judged on literal nodes.

#include "tests/checks/ask.hpp"

namespace muster::host_hardware_test {
namespace {

namespace host_cpu {

const Cpu kHealthy{.sockets = 2U,
                   .cores = 96U,
                   .threads = 96U,
                   .offline = std::string(),
                   .numa_nodes = std::vector<NumaNode>{{.id = 0, .cpus = std::string("0-47")},
                                                       {.id = 1, .cpus = std::string("48-95")}}};
const Profile kExpected{
    .host = HostLimits{.cpu = {.sockets = 2, .cores = 96, .threads = 96, .numa_nodes = 2}}};

Findings judge(Cpu cpu, const Profile& profile = kExpected) {
  return ask(checks::host_cpu::check, {.cpu = observed(std::move(cpu))}, profile);
}

TEST(HostCpuTest, JudgesEachCase) {
  Cpu with_memory = kHealthy;
  with_memory.numa_nodes->push_back({.id = 2, .cpus = std::string()});
  Cpu unread = kHealthy;
  unread.sockets = make_error("read topology: Input/output error");
  unread.numa_nodes = make_missing("no node directory");
  Cpu garbled = kHealthy;
  garbled.offline = make_error("offline: not a list");
  const Cpu half{.cores = 8U, .threads = 8U, .offline = std::string("8-15")};
  const std::int64_t none = 0;
  expect_each({
      {"leaves out NUMA nodes of memory only", judge(with_memory), {passes()}},
      {"fails an offline core without any limit",
       judge({.cores = 7U, .threads = 14U, .offline = std::string("3,11")}, {}),
       {fails("node", Remedy::reboot, {std::int64_t{2}, none, "CPUs"})}},
      {"only warns of offline threads that look as if SMT is off",
       judge(half, {}),
       {warns("node", Remedy::fix_config, {std::int64_t{8}, none, "CPUs"})}},
      {"accepts offline threads if the expected number is online",
       judge(half, {.host = HostLimits{.cpu = {.threads = 8}}}),
       {passes()}},
      {"is unknown if expected counts could not be read", judge(unread), {unknown(), unknown()}},
      {"is unknown if the list of offline CPUs is garbled", judge(garbled), {unknown()}},
  });
}

}  // namespace host_cpu

namespace host_edac {

const Profile kTenPerHour{.host = HostLimits{.edac = {.corrected_warn_above_per_hour = 10.0}}};

Findings judge(const Snapshot& node, const Profile& profile = kTenPerHour) {
  return ask(checks::host_edac::check, node, profile);
}

Snapshot node(Fact<std::vector<EdacController>> edac) {
  return {.identity = observed(Identity{.uptime_s = 10000.0}),
          .kernel = observed(Kernel{.edac = std::move(edac)})};
}

std::vector<EdacController> one_controller(std::uint64_t corrected, std::uint64_t uncorrected) {
  return {{.name = "mc0", .corrected = corrected, .uncorrected = uncorrected}};
}

Earlier seen_before(std::uint64_t corrected) {
  return {.last_uptime_s = 8200,
          .counters = {{"edac.mc0.corrected", {{.uptime_s = 8200, .value = corrected}}}}};
}

TEST(HostEdacTest, JudgesTheRateSinceTheLastRun) {
  Snapshot snapshot = node(one_controller(7, 0));
  snapshot.earlier = seen_before(5);
  EXPECT_THAT(judge(snapshot), ElementsAre(passes("mc0")));
  // A node that is inspected once a day: the errors are a day's, not an hour's.
  snapshot = node(one_controller(25, 0));
  snapshot.identity.facts.uptime_s = 8200 + 24 * 3600.0;
  snapshot.earlier = seen_before(1);
  EXPECT_THAT(judge(snapshot), ElementsAre(passes("mc0")));
  snapshot = node(one_controller(0xffffffff, 0));
  const auto saturated = warns("mc0", Remedy::watch, {std::int64_t{0xffffffff}});
  EXPECT_THAT(judge(snapshot), ElementsAre(saturated));
  snapshot.earlier = seen_before(0xffffffff);
  EXPECT_THAT(judge(snapshot), ElementsAre(saturated));
}

TEST(HostEdacTest, JudgesEveryController) {
  std::vector<EdacController> edac = one_controller(0, 0);
  edac.push_back({.name = "mc1", .corrected = std::uint64_t{0}, .uncorrected = std::uint64_t{2}});
  EXPECT_THAT(judge(node(edac), {}),
              ElementsAre(passes("mc0"), fails("mc1", Remedy::reseat_or_replace,
                                               {std::int64_t{2}, std::int64_t{0}, "errors"})));
}

TEST(HostEdacTest, IsUnknownIfACounterOrTheTimeSinceBootCouldNotBeRead) {
  expect_findings(checks::host_edac::check, node(one_controller(0, 0)), kTenPerHour,
                  {{"uncorrected errors",
                    [](Snapshot& node) {
                      node.kernel->edac->front().uncorrected = make_error("ue_count: garbled");
                    },
                    {unknown("mc0")}},
                   {"corrected errors",
                    [](Snapshot& node) {
                      node.kernel->edac->front().corrected = make_error("ce_count: garbled");
                    },
                    {unknown("mc0")}},
                   {"uptime",
                    [](Snapshot& node) { node.identity->uptime_s = make_error("uptime: empty"); },
                    {unknown("mc0")}}});
}

TEST(HostEdacTest, JudgesEachCase) {
  expect_each({
      {"passes by uncorrected errors alone at the first observation",
       judge(node(one_controller(7, 0))),
       {passes("mc0")}},
      {"is skipped if no driver is loaded", judge(node(make_missing("no EDAC driver"))), {skips()}},
      {"is unknown if the controllers could not be listed",
       judge(node(make_error("list mc: Permission denied")), {}),
       {unknown()}},
  });
}

}  // namespace host_edac

namespace host_temperature {

Findings judge(const Fact<std::vector<ThermalZone>>& zones) {
  Kernel kernel;
  kernel.thermal_zones = zones;
  const Snapshot snapshot{.identity = observed(Identity{}), .kernel = observed(std::move(kernel))};
  return ask(checks::host_temperature::check, snapshot, Profile{});
}

ThermalZone zone(double now) {
  return {.name = "thermal_zone3 (TH30)", .now_c = now, .critical_c = 105.0, .hot_c = 103.0};
}

TEST(HostTemperatureTest, JudgesEachCase) {
  using Zones = std::vector<ThermalZone>;
  auto without_limit = zone(120);
  without_limit.critical_c = 0.0;
  without_limit.hot_c = make_missing("none");
  auto silent = zone(0);
  silent.now_c = make_error("No data available");
  const auto name = zone(0).name;
  expect_each({
      {"a hot zone below its limit", judge(Zones{zone(97.9), zone(40)}), {passes()}},
      {"short of the limit",
       judge(Zones{zone(98)}),
       {warns(name, Remedy::watch, {98.0, 103.0, "C"})}},
      {"at the limit",
       judge(Zones{zone(103)}),
       {fails(name, Remedy::reseat_or_replace, {103.0, 103.0, "C"})}},
      {"no limit", judge(Zones{without_limit}), {skips()}},
      {"no temperature", judge(Zones{silent}), {skips()}},
      {"no zone", judge(make_missing("no zone")), {skips()}},
      {"unreadable zones", judge(make_error("Permission denied")), {unknown()}},
  });
}

}  // namespace host_temperature

}  // namespace
}  // namespace muster::host_hardware_test
