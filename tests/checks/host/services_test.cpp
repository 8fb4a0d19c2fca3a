// SPDX-License-Identifier: Apache-2.0
// Services, programs, container storage and interfaces judged on literal nodes.

#include "tests/checks/ask.hpp"

namespace muster::host_services_test {
namespace {

namespace host_services {

Findings judge(Services services, ServiceLimits limits) {
  return ask(checks::host_services::check, {.services = observed(std::move(services))},
             {.host = HostLimits{.services = std::move(limits)}});
}

Services active(std::vector<std::string> units) { return {.active = std::move(units)}; }

TEST(HostServicesTest, JudgesEachCase) {
  using Units = std::vector<std::string>;
  expect_each({
      {"passes with names with and without their suffix",
       judge(active({"chrony.service", "munge.service", "dbus.socket"}),
             {.active = {"munge", "chrony.service", "dbus.socket"}, .inactive = {"apt-daily"}}),
       {passes()}},
      {"fails every service that must not be active",
       judge(active({"apt-daily.timer", "apt-daily-upgrade.timer", "munge.service"}),
             {.inactive = {"apt-daily*.timer"}}),
       {fails("apt-daily.timer", Remedy::fix_config, {"active", "inactive"}),
        fails("apt-daily-upgrade.timer", Remedy::fix_config, {"active", "inactive"})}},
      {"reports a failed service",
       judge({.active = Units(), .failed = Units{"munge.service"}}, {.active = {"munge"}}),
       {fails("munge.service", Remedy::restart_service, {"failed", "active"})}},
      {"is unknown without the list of units",
       judge({.active = make_error("list system.slice: Permission denied")}, {.active = {"munge"}}),
       {unknown()}},
  });
}

}  // namespace host_services

namespace host_programs {

Findings judge(std::vector<FileFact> files, ProgramLimits limits) {
  return ask(checks::host_programs::check,
             {.environment = observed(Environment{.files = std::move(files)})},
             {.host = HostLimits{.programs = std::move(limits)}});
}

TEST(HostProgramsTest, JudgesEachCase) {
  expect_each({
      {"passes with everything in place",
       judge({{.path = "/usr/bin/enroot", .exists = true, .executable = true},
              {.path = "/etc/topo.xml", .exists = true}},
             {.executable = {"/usr/bin/enroot"}, .present = {"/etc/topo.xml"}}),
       {passes()}},
      {"warns about missing files",
       judge({{.path = "/usr/bin/enroot"}, {.path = "/etc/topo.xml"}},
             {.executable = {"/usr/bin/enroot"}, .present = {"/etc/topo.xml"}}),
       {warns("/usr/bin/enroot", Remedy::fix_config, {"missing", "executable"}),
        warns("/etc/topo.xml", Remedy::fix_config, {"missing", "present"})}},
      {"is unknown for files missing from the snapshot",
       judge({}, {.present = {"/etc/topo.xml"}}),
       {unknown("/etc/topo.xml")}},
  });
}

}  // namespace host_programs

namespace host_container_storage {

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;
const std::string kPath = "/mnt/nvme/enroot";

Findings judge(std::vector<FileFact> files, Limit<Bytes> free_min = Bytes{100.0 * kGib}) {
  return ask(
      checks::host_container_storage::check,
      {.environment = observed(Environment{.files = std::move(files)})},
      {.host = HostLimits{.container_storage = {
                              .paths = {kPath}, .free_min = free_min, .inodes_free_min = 10000}}});
}

FileFact directory(std::uint64_t free_gib) {
  return {.path = kPath,
          .exists = true,
          .directory = true,
          .writable = true,
          .space = Space{.available_bytes = free_gib * kGib}};
}

TEST(HostContainerStorageTest, WarnsOfADirectoryThatCannotBeWritten) {
  FileFact file = directory(500);
  file.writable = false;
  EXPECT_THAT(judge({file}),
              ElementsAre(warns(kPath, Remedy::fix_config, {"not writable", "writable"})));
}

TEST(HostContainerStorageTest, IsUnknownIfTheFactsAreMissing) {
  FileFact file = directory(500);
  file.space = make_error("statfs: Input/output error");
  EXPECT_THAT(judge({file}), ElementsAre(unknown(kPath)));
  file.writable = make_error("stat: Permission denied");
  EXPECT_THAT(judge({file}), ElementsAre(unknown(kPath)));
  EXPECT_THAT(judge({}), ElementsAre(unknown(kPath)));
}

TEST(HostContainerStorageTest, JudgesFreeInodesLikeFreeSpace) {
  FileFact file = directory(500);
  const auto with_inodes = [&](std::uint64_t total, std::uint64_t free) {
    file.space->inodes_total = total;
    file.space->inodes_free = free;
    return judge({file});
  };
  EXPECT_THAT(with_inodes(16777216, 0),
              ElementsAre(warns(kPath, Remedy::fix_config, {0, 10000, "inodes"})));
  EXPECT_THAT(with_inodes(16777216, 9999),
              ElementsAre(warns(kPath, Remedy::fix_config, {9999, 10000, "inodes"})));
  EXPECT_THAT(with_inodes(16777216, 10000), ElementsAre(passes()));
  EXPECT_THAT(with_inodes(0, 0), ElementsAre(passes())) << "btrfs counts no inodes";
}

TEST(HostContainerStorageTest, JudgesEachCase) {
  expect_each({
      {"passes with room", judge({directory(100)}), {passes()}},
      {"warns of too little room",
       judge({directory(99)}),
       {warns(kPath, Remedy::fix_config,
              {std::int64_t{99 * kGib}, std::int64_t{100 * kGib}, "B"})}},
      {"warns of a file in its place",
       judge({{.path = kPath, .exists = true, .writable = true}}),
       {warns(kPath, Remedy::fix_config, {"not a directory", "directory"})}},
      {"judges no room without a limit", judge({directory(0)}, {}), {passes()}},
  });
}

}  // namespace host_container_storage

namespace host_ethernet {

const Interface kUp{.name = "eth0",
                    .operstate = std::string("up"),
                    .carrier = true,
                    .speed_mbps = std::uint64_t{100000}};
const EthernetInterface kAnySpeed{.name = "eth0"};
const EthernetInterface kHundred{.name = "eth0", .speed = BitsPerSecond{100e9}};

Findings judge(std::vector<Interface> interfaces, std::vector<EthernetInterface> expected) {
  return ask(checks::host_ethernet::check,
             {.network = observed(Network{.interfaces = std::move(interfaces)})},
             {.host = HostLimits{.ethernet = {.interfaces = std::move(expected)}}});
}

const Expected kDown = fails("eth0", Remedy::fix_config, {"down", "up"});

TEST(HostEthernetTest, JudgesTheNameAndTheSpeed) {
  EXPECT_THAT(judge({kUp}, {kHundred}), ElementsAre(passes()));
  EXPECT_THAT(judge({kUp}, {{.name = "eth1"}}),
              ElementsAre(fails("eth1", Remedy::fix_config, {false, true})));
}

TEST(HostEthernetTest, FailsAnInterfaceThatIsDownWithoutJudgingItsSpeed) {
  Interface eth0 = kUp;
  eth0.operstate = std::string("down");
  eth0.carrier = false;
  eth0.speed_mbps = make_error("speed: Invalid argument");
  EXPECT_THAT(judge({eth0}, {kHundred}), ElementsAre(kDown));
  // The carrier cannot be read because the interface is down.
  eth0.carrier = make_error("carrier: Invalid argument");
  EXPECT_THAT(judge({eth0}, {kAnySpeed}), ElementsAre(kDown));
}

TEST(HostEthernetTest, ACarrierCountsAsUp) {
  Interface eth0 = kUp;
  eth0.operstate = std::string("unknown");
  EXPECT_THAT(judge({eth0}, {kAnySpeed}), ElementsAre(passes()));
}

TEST(HostEthernetTest, ACarrierDoesNotOutweighAStateThatIsNotUp) {
  for (const auto* const state : {"down", "lowerlayerdown", "notpresent", "dormant", "testing"}) {
    Interface eth0 = kUp;
    eth0.operstate = std::string(state);
    EXPECT_THAT(judge({eth0}, {kAnySpeed}),
                ElementsAre(fails("eth0", Remedy::fix_config, {state, "up"})));
  }
}

TEST(HostEthernetTest, FailsASlowInterface) {
  Interface eth0 = kUp;
  eth0.speed_mbps = std::uint64_t{40000};
  EXPECT_THAT(judge({eth0}, {kHundred}),
              ElementsAre(fails("eth0", Remedy::fix_config, {40.0, 100.0, "Gb/s"})));
}

TEST(HostEthernetTest, IsUnknownForAMissingSpeed) {
  Interface eth0 = kUp;
  eth0.speed_mbps = make_missing("the driver knows no speed");
  EXPECT_THAT(judge({eth0}, {kAnySpeed}), ElementsAre(passes()));
  EXPECT_THAT(judge({eth0}, {kHundred}), ElementsAre(unknown("eth0")));
}

TEST(HostEthernetTest, IsUnknownIfNeitherStateCouldBeRead) {
  Interface eth0 = kUp;
  eth0.operstate = make_error("operstate: empty");
  eth0.carrier = make_error("carrier: Invalid argument");
  EXPECT_THAT(judge({eth0}, {kAnySpeed}), ElementsAre(unknown("eth0")));
}

TEST(HostEthernetTest, FindsTheInterfaceOfAnRdmaDevice) {
  Interface renamed = kUp;
  renamed.name = "enP1s0";
  renamed.hca = "mlx5_an0";
  EXPECT_THAT(judge({renamed}, {{.name = "mlx5_an*"}}), ElementsAre(passes()));
  const EthernetInterface any{.name = "mlx5_an*", .rdma = true};
  renamed.hca = "mlx5_8";
  renamed.type = 1U;
  EXPECT_THAT(judge({renamed}, {any}), ElementsAre(passes()));
  renamed.type = 32U;  // InfiniBand
  EXPECT_THAT(judge({renamed}, {any}),
              ElementsAre(fails("mlx5_an*", Remedy::fix_config, {false, true})));
}

}  // namespace host_ethernet

}  // namespace
}  // namespace muster::host_services_test
