// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lib/node/snapshot.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

Snapshot example() {
  Snapshot s;
  s.taken = "2026-11-20T12:00:00Z";
  s.identity =
      observed(Identity{.hostname = "gpu-0007", .boot_id = std::string("b"), .uptime_s = 12.5});
  s.cpu = observed(Cpu{.sockets = 2U, .cores = Fact<unsigned>::unreadable("read x: garbled")});
  s.memory = {.status = Status::timeout, .reason = "no answer within 5 s", .duration_ms = 5000};
  s.kernel =
      observed(Kernel{.sysctl = {{"vm.swappiness", std::string("60")},
                                 {"vm.none", Fact<std::string>::absent("no such key")}},
                      .edac = std::vector<EdacController>{{.name = "mc0", .corrected = 3U}}});
  s.pci = observed(Pci{.devices = {{.address = "0001:00:00.0",
                                    .kind = PciKind::gpu,
                                    .numa_node = -1,
                                    .aer = AerCounts{.fatal = 1},
                                    .upstream = {"ffff:00:01.0"}}}});
  s.earlier = {.boot_id = "b",
               .last_uptime_s = 3,
               .counters = {{"ib.x.1.y", {{1.5, 18446744073709551615U}}}}};
  return s;
}

TEST(SnapshotJsonTest, RoundTrips) {
  const auto back = parse_snapshot(to_json(example()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, example());
}

TEST(SnapshotJsonTest, WritesWhyAFactIsMissing) {
  EXPECT_THAT(to_json(example()), HasSubstr(R"("cores":{"$unreadable":"read x: garbled"})"));
  EXPECT_THAT(to_json(example()), HasSubstr(R"("vm.none":{"$absent":"no such key"})"));
}

TEST(SnapshotJsonTest, ReplacesInvalidUtf8) {
  Snapshot s = example();
  s.kernel_log = observed(KernelLog{.records = {{.text = "a\xff\x1b"}}});
  EXPECT_THAT(to_json(s), HasSubstr("a\xEF\xBF\xBD\\u001b"));
}

TEST(SnapshotJsonTest, TreatsMissingKeysAsNotObserved) {
  const auto snapshot = parse_snapshot(R"({"schema": "muster.snapshot/1", "future": 1,
    "cpu": {"status": "ok", "facts": {"sockets": 2, "colour": "red"}}})");
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(*snapshot->cpu->sockets, 2U);
  EXPECT_EQ(snapshot->cpu->cores.why(), "not observed");
  EXPECT_EQ(snapshot->memory.status, Status::absent);
}

TEST(SnapshotJsonTest, NamesThePlaceOfAnError) {
  const auto expect = [](std::string_view json, std::string_view message) {
    const auto snapshot = parse_snapshot(json);
    ASSERT_FALSE(snapshot) << json;
    EXPECT_THAT(snapshot.error().message, HasSubstr(message));
  };
  const auto expect_in = [&](std::string_view member, std::string_view message) {
    expect(fmt::format(R"({{"schema": "muster.snapshot/1", {}}})", member), message);
  };
  expect("", "parse error");
  expect("[]", "/: expected an object");
  expect("{}", "/schema: expected \"muster.snapshot/1\", got \"\"");
  expect(R"({"schema": "muster.snapshot/2"})", "got \"muster.snapshot/2\"");
  expect_in(R"("cpu": 3)", "/cpu: expected an object");
  expect_in(R"("cpu": {"status": "fine"})", "/cpu/status: expected ok, absent, timeout or error");
  expect_in(R"("cpu": {"status": "ok", "facts": {"sockets": -2}})",
            "/cpu/facts/sockets: expected a larger number");
  expect_in(R"("cpu": {"status": "ok", "facts": {"sockets": 1e3}})",
            "/cpu/facts/sockets: expected a whole number");
  expect_in(R"("cpu": {"status": "ok", "facts": {"sockets": 99999999999}})",
            "/cpu/facts/sockets: expected a smaller number");
  expect_in(R"("pci": {"status": "ok", "facts": {"devices": [{"address": "a"}, {"address": 1}]}})",
            "/pci/facts/devices/1/address: expected a string");
  expect_in(R"("pci": {"status": "ok", "facts": {"devices": [{"kind": "disk"}]}})",
            "/pci/facts/devices/0/kind: expected gpu");
  for (const auto* uptime : {"-5", "1e300"}) {
    expect_in(fmt::format(R"("identity": {{"status": "ok", "facts": {{"uptime_s": {}}}}})", uptime),
              "/identity/facts/uptime_s: expected the seconds since boot");
  }
}

TEST(SnapshotJsonTest, RefusesImpossibleValuesAndEntriesThatOccurTwice) {
  const auto expect = [](std::string_view section, std::string_view facts,
                         std::string_view message) {
    const auto snapshot = parse_snapshot(fmt::format(
        R"({{"schema": "muster.snapshot/1", "{}": {{"status": "ok", "facts": {{{}}}}}}})", section,
        facts));
    ASSERT_FALSE(snapshot) << facts;
    EXPECT_EQ(snapshot.error().message, message);
  };
  expect("processes", R"("load5": -1)", "/processes/facts/load5: expected 0 or more, got -1");
  expect("processes", R"("load15": -0.5)", "/processes/facts/load15: expected 0 or more, got -0.5");
  expect("nvml", R"("gpus": [{}, {"nvlinks": [{"link": 0}, {"link": 1, "ber": -1}]}])",
         "/nvml/facts/gpus/1/nvlinks/1/ber: expected 0 or more, got -1");
  expect("nvml", R"("gpus": [{"nvlinks": [{"link": 3}, {"link": 4}, {"link": 3}]}])",
         "/nvml/facts/gpus/0/nvlinks/2/link: link 3 has two entries");
  expect("pci", R"("devices": [{"address": "a"}, {"address": "b"}, {"address": "b"}])",
         "/pci/facts/devices/2/address: device b has two entries");
}

TEST(SnapshotJsonTest, DropsObservationsOfAnotherBootAndOfTheFuture) {
  for (const bool other_boot : {true, false}) {
    Snapshot s = example();
    s.earlier.jobs = {{.id = "7"}};
    if (other_boot) {
      s.earlier.boot_id = "a";
    } else {
      s.earlier.last_uptime_s = 1000;
    }
    const auto back = parse_snapshot(to_json(s));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(back->earlier.counters.empty());
    EXPECT_EQ(back->earlier.last_uptime_s, 0);
    EXPECT_EQ(back->earlier.jobs.size(), 1U);
    EXPECT_THAT(back->earlier.note, HasSubstr("the earlier observations are from"));
  }
}

TEST(SnapshotJsonTest, AFactThatCouldNotBeReadIsNotAbsent) {
  const auto back = parse_snapshot(R"({"schema": "muster.snapshot/1", "cpu": {"status": "ok",
    "facts": {"sockets": {"$absent": "no", "$unreadable": "garbled"}}}})");
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->cpu->sockets.is_unreadable());
}

}  // namespace
}  // namespace muster
