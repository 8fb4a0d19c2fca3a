// SPDX-License-Identifier: Apache-2.0
// The samples for metrics that findings do not have.

#include "checks/run.hpp"
#include "tests/checks/ask.hpp"

namespace muster::readings_test {
namespace {

std::vector<Reading> named(std::string_view metric, const Snapshot& snapshot,
                           const Profile& profile, const std::vector<std::string>& only = {"*"}) {
  auto readings = readings_of(snapshot, profile, judge(snapshot, profile, {.only = only}));
  std::erase_if(readings, [&](const Reading& each) { return each.metric != metric; });
  return readings;
}

Snapshot node_with_memory(std::uint64_t available) {
  Snapshot snapshot;
  snapshot.memory =
      observed(Memory{.total_bytes = std::uint64_t{1000}, .available_bytes = available});
  return snapshot;
}

Profile with_memory_limit(double percent) {
  Profile profile;
  profile.host->memory_available.warn_below = Percent{percent};
  return profile;
}

double headroom_of_memory(std::uint64_t available) {
  return named("headroom_ratio", node_with_memory(available), with_memory_limit(10)).at(0).value;
}

TEST(HeadroomTest, IsZeroAtALowerLimitAndNegativeBelow) {
  EXPECT_DOUBLE_EQ(headroom_of_memory(100), 0);
  EXPECT_DOUBLE_EQ(headroom_of_memory(150), 0.5);
  EXPECT_DOUBLE_EQ(headroom_of_memory(50), -0.5);
}

TEST(HeadroomTest, HasNoSampleWithoutALimitAValueOrAJudgement) {
  const auto node = node_with_memory(500);
  EXPECT_THAT(named("headroom_ratio", node, Profile()), IsEmpty());
  EXPECT_THAT(named("headroom_ratio", node, with_memory_limit(0)), IsEmpty());
  EXPECT_THAT(named("headroom_ratio", node, with_memory_limit(10), {"host.swap"}), IsEmpty());
  Snapshot unknown = node;
  unknown.memory->available_bytes = make_error("Permission denied");
  EXPECT_THAT(named("headroom_ratio", unknown, with_memory_limit(10)), IsEmpty());
  Snapshot lost = node;
  lost.memory.status = Status::timeout;
  EXPECT_THAT(named("headroom_ratio", lost, with_memory_limit(10)), IsEmpty());
}

Snapshot node_with_gpu() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.uptime_s = 7200.0});
  Gpu gpu{.index = 3, .address = "0001:0a:00.0", .uuid = std::string("GPU-1")};
  gpu.serial = std::string("1650");
  gpu.heat = {.gpu_c = 80, .memory_c = 60};
  snapshot.nvml = observed(Nvml{.gpus = {gpu}});
  return snapshot;
}

Profile with_gpu_limits() {
  Profile profile;
  profile.name = "h100";
  profile.gpu->present.count = 1;
  profile.gpu->temperature.warn_above = Celsius{85};
  profile.gpu->temperature.fail_above = Celsius{100};
  profile.gpu->temperature.memory_warn_above = Celsius{100};
  return profile;
}

TEST(HeadroomTest, OfADeviceIsThatOfItsClosestLimit) {
  EXPECT_THAT(named("headroom_ratio", node_with_gpu(), with_gpu_limits(), {"gpu.temperature"}),
              ElementsAre(Reading{.metric = "headroom_ratio",
                                  .labels = {{"check", "gpu.temperature"}, {"device", "gpu3"}},
                                  .value = 5.0 / 85}));
}

TEST(DeviceInfoTest, JoinsTheSerialNumberWithDcgmsNames) {
  EXPECT_THAT(named("device_info", node_with_gpu(), with_gpu_limits()),
              ElementsAre(Reading{.metric = "device_info",
                                  .labels = {{"device", "gpu3"},
                                             {"kind", "gpu"},
                                             {"pci_bus_id", "00000001:0A:00.0"},
                                             {"serial", "1650"},
                                             {"uuid", "GPU-1"}},
                                  .value = 1}));
}

XidEvent xid(unsigned code, std::uint64_t lines, bool nvswitch = false) {
  return {.nvswitch = nvswitch,
          .address = nvswitch ? "0009:00:00.0" : "0001:0a:00.0",
          .code = code,
          .first_us = 1000,
          .last_us = 2000,
          .lines = lines};
}

TEST(XidCountersTest, CountEveryLineByNumberAndDevice) {
  auto node = node_with_gpu();
  node.kernel_log = observed(KernelLog{});
  node.xids.of_kernel.events = {xid(94, 2), xid(94, 3), xid(63, 1), xid(12028, 4, true)};
  const auto xids = named("xid_events_total", node, with_gpu_limits());
  EXPECT_THAT(xids, ElementsAre(Reading{.metric = "xid_events_total",
                                        .labels = {{"code", "63"}, {"device", "gpu3"}},
                                        .value = 1},
                                Reading{.metric = "xid_events_total",
                                        .labels = {{"code", "94"}, {"device", "gpu3"}},
                                        .value = 5}));
  EXPECT_THAT(named("sxid_events_total", node, with_gpu_limits()),
              ElementsAre(Reading{.metric = "sxid_events_total",
                                  .labels = {{"code", "12028"}, {"device", "0009:00:00.0"}},
                                  .value = 4}));
  node.kernel_log.status = Status::error;
  EXPECT_THAT(named("xid_events_total", node, with_gpu_limits()), IsEmpty());
}

Snapshot node_with_port(std::uint64_t symbol_errors) {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.uptime_s = 7200.0});
  IbPort port{.link_layer = "InfiniBand", .state = 4U};
  port.counters = ByName<Fact<std::uint64_t>>{{"symbol_error", symbol_errors}};
  Hca hca{.name = "mlx5_0"};
  hca.ports = std::vector<IbPort>{port};
  snapshot.infiniband = observed(Infiniband{.hcas = {hca}});
  snapshot.earlier.last_uptime_s = 3600;
  snapshot.earlier.counters["ib.mlx5_0.1.symbol_error"] = {{.uptime_s = 3600, .value = 0}};
  return snapshot;
}

TEST(ErrorRateTest, IsPerSecondOverTheHourThatWasJudged) {
  Profile profile;
  profile.ib->errors.window = Seconds{kHour};
  profile.ib->errors.counters["symbol_error"].warn_above_per_hour = 100;
  EXPECT_THAT(
      named("error_rate_hertz", node_with_port(36), profile, {"ib.errors"}),
      ElementsAre(Reading{
          .metric = "error_rate_hertz",
          .labels = {{"check", "ib.errors"}, {"device", "mlx5_0"}, {"kind", "symbol_error"}},
          .value = 0.01}));
  EXPECT_THAT(named("error_rate_hertz", node_with_port(0), profile, {"ib.errors"}), IsEmpty());
  EXPECT_DOUBLE_EQ(named("headroom_ratio", node_with_port(0), profile, {"ib.errors"}).at(0).value,
                   1);
  EXPECT_DOUBLE_EQ(named("headroom_ratio", node_with_port(150), profile, {"ib.errors"}).at(0).value,
                   -0.5);
}

TEST(CommonValuesTest, AreInBaseUnits) {
  auto node = node_with_gpu();
  node.nvml->gpus[0].power.usage_mw = std::uint64_t{699'500};
  node.nvml->gpus[0].clocks.sm_mhz = 1980U;
  EXPECT_DOUBLE_EQ(named("gpu_power_watts", node, Profile()).at(0).value, 699.5);
  EXPECT_DOUBLE_EQ(named("gpu_clock_hertz", node, Profile()).at(0).value, 1.98e9);
  EXPECT_DOUBLE_EQ(named("gpu_temperature_celsius", node, Profile()).at(0).value, 80);
  node.nvml->gpus[0].heat = {};
  EXPECT_THAT(named("gpu_temperature_celsius", node, Profile()), IsEmpty());
}

}  // namespace
}  // namespace muster::readings_test
