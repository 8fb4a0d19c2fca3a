// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/parse.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "lib/probes/attributes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

template <class Parse>
void expect_refused(const Parse& parse, std::initializer_list<std::string_view> texts) {
  for (const auto text : texts) EXPECT_FALSE(parse(text)) << text;
}

TEST(ProcessStatTest, ReadsTheFields) {
  const auto line = stat_line(42, "cat", 'D', 4200);
  const auto stat = parse_process_stat(line);
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(*stat, (ProcessStat{
                       .pid = 42, .name = "cat", .state = 'D', .parent = 1, .start_ticks = 4200}));
}

TEST(ProcessStatTest, EndsTheNameAtTheLastParenthesis) {
  const auto line = stat_line(42, "a) R 5 (b", 'Z', 9);
  const auto stat = parse_process_stat(line);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) R 5 (b");
  EXPECT_EQ(stat->state, 'Z');
}

TEST(ProcessStatTest, AcceptsAnEmptyName) {
  EXPECT_EQ(parse_process_stat(stat_line(42, "", 'S', 9))->name, "");
}

TEST(ProcessStatTest, RefusesEveryTruncatedLineUpToTheStartTime) {
  const auto line = stat_line(42, "cat", 'D', 4200);
  for (std::size_t length = 0; length < line.find(" 4200"); ++length) {
    EXPECT_FALSE(parse_process_stat(line.substr(0, length))) << length;
  }
}

TEST(ContextSwitchesTest, AddsBothKinds) {
  EXPECT_EQ(parse_context_switches("Name:\tvoluntary_ctxt_switches: 9\n"
                                   "voluntary_ctxt_switches:\t150\n"
                                   "nonvoluntary_ctxt_switches:\t7\n"),
            157U);
}

TEST(ContextSwitchesTest, RequiresBothNumbers) {
  expect_refused(parse_context_switches,
                 {"", "voluntary_ctxt_switches:\t150\n",
                  "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\n",
                  "voluntary_ctxt_switches:\t-1\nnonvoluntary_ctxt_switches:\t1\n",
                  "voluntary_ctxt_switches\nnonvoluntary_ctxt_switches:\t1\n"});
}

TEST(UserTest, IsTheRealOne) {
  EXPECT_EQ(parse_user("Name:\tUid: 9\nUid:\t1000\t0\t0\t0\nGid:\t7\t7\t7\t7\n"), 1000U);
}

TEST(UserTest, RequiresANumber) {
  expect_refused(parse_user, {"", "Name:\tUid: 9\n", "Uid:\n", "Uid:\t-1\t0\t0\t0\n"});
}

TEST(BeingKilledTest, DetectsAPendingSigkill) {
  EXPECT_TRUE(is_being_killed("SigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n"));
  EXPECT_TRUE(is_being_killed("SigPnd:\t0000000000000000\nShdPnd:\t0000000000004100\n"));
}

TEST(BeingKilledTest, IgnoresOtherSignals) {
  expect_refused(is_being_killed, {"", "SigPnd:\t0000000000000200\nShdPnd:\t0000000000004000\n",
                                   "SigBlk:\t0000000000000100\n", "SigPnd:\tx\n"});
}

TEST(LoadAverageTest, ReadsLoadsAndTasks) {
  const auto load = parse_load_average("0.20 1.18 22.12 3/80 11206");
  ASSERT_TRUE(load);
  EXPECT_EQ(*load, (LoadAverage{
                       .load1 = 0.20, .load5 = 1.18, .load15 = 22.12, .running = 3, .total = 80}));
}

TEST(LoadAverageTest, RefusesInvalidLoadAverages) {
  expect_refused(parse_load_average, {"", "0.1 0.1 0.1", "a 0.1 0.1 1/2 3", "-1 0.1 0.1 1/2 3",
                                      "0.1 0.1 0.1 12 3", "0.1 0.1 0.1 1/ 3", "nan 0.1 0.1 1/2 3"});
}

TEST(MeminfoParseTest, ReadsTheLinesOfANumaNode) {
  EXPECT_EQ(parse_meminfo("Node 0 MemTotal:  3 kB\n", "Node 0 MemTotal"),
            Result<std::uint64_t>(3072U));
}

TEST(MeminfoParseTest, ComparesWholeNames) {
  EXPECT_TRUE(parse_meminfo("XMemTotal: 3 kB\nMemTotalX: 3 kB\n", "MemTotal").error().missing);
}

TEST(MeminfoParseTest, RefusesInvalidNumbers) {
  for (const auto* line : {"MemTotal: kB", "MemTotal: 3", "MemTotal: 3 MB", "MemTotal: -3 kB",
                           "MemTotal: 3x kB", "MemTotal: 18014398509481984 kB", "MemTotal:"}) {
    const auto value = parse_meminfo(line, "MemTotal");
    ASSERT_FALSE(value) << line;
    EXPECT_FALSE(value.error().missing) << line;
  }
}

TEST(LinkRateTest, ReadsRateWidthAndLaneSpeed) {
  EXPECT_EQ(parse_link_rate("400 Gb/sec (4X NDR)"),
            (LinkRate{.gbps = 400, .lanes = 4, .speed = "NDR"}));
  EXPECT_EQ(parse_link_rate("2.5 Gb/sec (1X SDR)"),
            (LinkRate{.gbps = 2.5, .lanes = 1, .speed = "SDR"}));
  EXPECT_EQ(parse_link_rate("40 Gb/sec (4X FDR10)"),
            (LinkRate{.gbps = 40, .lanes = 4, .speed = "FDR10"}));
  // As old kernels write it.
  EXPECT_EQ(parse_link_rate("10 Gb/sec (4X)"), (LinkRate{.gbps = 10, .lanes = 4, .speed = ""}));
}

TEST(LinkRateTest, RefusesInvalidText) {
  expect_refused(
      parse_link_rate,
      {"", "400", "400 Gb/sec", "400 Gb/s (4X NDR)", "Gb/sec (4X NDR) 400", "400 Gb/sec (X NDR)",
       "400 Gb/sec (4 NDR)", "400 Gb/sec (4X NDR", "400 Gb/sec 4X NDR)", "400 Gb/sec (4X n\x1b[0m)",
       "-400 Gb/sec (4X NDR)", "nan Gb/sec (4X NDR)", "1e300 Gb/sec (4X NDR)",
       "400 Gb/sec (4294967300X NDR)", "400 Gb/sec (4X NDR) (4X NDR)"});
  EXPECT_THAT(parse_link_rate("\x1b[31m").error().message, HasSubstr("got \"\\x1b[31m\""));
}

TEST(NumberedStateTest, ReadsTheNumberAndIgnoresTheWord) {
  EXPECT_EQ(parse_numbered_state("4: ACTIVE"), 4U);
  EXPECT_EQ(parse_numbered_state("9: <unknown>"), 9U);
  expect_refused(parse_numbered_state, {"ACTIVE", ": ACTIVE", "-1: ACTIVE", "4294967300: ACTIVE"});
}

TEST(AddressTextTest, ReadsLidsAndKeysAsTheKernelWritesThem) {
  EXPECT_EQ(parse_lid("0x1a0"), 0x1a0U);
  EXPECT_EQ(parse_pkey("0x8015"), 0x8015U);
  expect_refused(parse_lid, {"0x100000000", "416"});
  expect_refused(parse_pkey, {"0x18015", "0x", "full"});
}

TEST(AddressTextTest, ReadsGidsAndGuidsInLowerCase) {
  EXPECT_EQ(parse_gid("FE80:0000:0000:0000:0015:5dff:fe33:ff00"),
            "fe80:0000:0000:0000:0015:5dff:fe33:ff00");
  EXPECT_EQ(parse_guid("0015:5DFF:fe33:ff00"), "0015:5dff:fe33:ff00");
  expect_refused(parse_gid, {"fe80::1", "fe80:0000:0000:0000:0015:5dff:fe33",
                             "fe80:0000:0000:0000:0015:5dff:fe33:zz00"});
  EXPECT_FALSE(parse_guid(""));
}

TEST(PciAddressTest, RecognisesPciAddresses) {
  EXPECT_TRUE(is_pci_address("0101:00:00.0"));
  EXPECT_TRUE(is_pci_address("10000:e1:1f.7"));
  expect_refused(is_pci_address, {"01:00.0", "0101:00:00.8", "virtual", ""});
}

constexpr std::string_view kKey = "PhysicalHostNameFullyQualified";

TEST(KvpParseTest, FindsThePhysicalHostAmongOtherRecords) {
  const auto pool =
      fmt::format("{}{}{}", kvp_record("HostName", "a"), kvp_record(kKey, "host-7.example.net"),
                  kvp_record("VirtualMachineName", "b"));
  EXPECT_EQ(parse_physical_host(pool), Result<std::string>("host-7.example.net"));
}

TEST(KvpParseTest, IsMissingIfTheHostDoesNotSetIt) {
  EXPECT_EQ(
      parse_physical_host(kvp_record("HostName", "a")),
      Result<std::string>(make_missing("the host has not given its name in the key-value pool")));
  EXPECT_TRUE(parse_physical_host("").error().missing);
  EXPECT_TRUE(parse_physical_host(kvp_record("Note", kKey)).error().missing);
}

TEST(KvpParseTest, RefusesAPoolThatEndsWithinARecord) {
  EXPECT_EQ(parse_physical_host(kvp_record("HostName", "a").substr(0, 2559)),
            Result<std::string>(make_error("the key-value pool ends within a record")));
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "host-7").append("rest")),
            Result<std::string>("host-7"));
}

TEST(KvpParseTest, RefusesAnInvalidHostNameWithoutRepeatingIt) {
  const Result<std::string> refused(make_error("the key-value pool holds no valid host name"));
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "")), refused);
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "a b")), refused);
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, std::string(2048, 'a'))), refused);
}

TEST(InstanceDataTest, ReadsAzuresSize) {
  EXPECT_EQ(parse_instance_size(
                R"({"v1": {"cloud_name": "azure", "platform": "azure"}, "ds": {"meta_data": {
      "instance-id": "a-b", "imds": {"compute": {"location": "westeurope",
      "tagsList": [{"name": "vmSize", "value": "x"}], "vmSize": "Standard_ND96isr_H100_v5"},
      "network": {"interface": []}}}}, "sensitive_keys": ["merged_cfg"]})"),
            "Standard_ND96isr_H100_v5");
}

TEST(InstanceDataTest, ReadsAmazonsType) {
  EXPECT_EQ(parse_instance_size(R"({"ds": {"meta_data": {"instance-type": "p5.48xlarge"}}})"),
            "p5.48xlarge");
  EXPECT_EQ(parse_instance_size(R"({"ds": {"meta_data": {"instance_type": "p5.48xlarge"}}})"),
            "p5.48xlarge");
  EXPECT_EQ(parse_instance_size(R"({"ds": {"dynamic": {"instance-identity": {"document":
      {"architecture": "x86_64", "instanceType": "p5en.48xlarge"}}}}})"),
            "p5en.48xlarge");
}

TEST(InstanceDataTest, ReadsGooglesType) {
  EXPECT_EQ(parse_instance_size(R"({"ds": {"meta_data": {"instance":
      {"machineType": "projects/4711/machineTypes/a3-highgpu-8g"}}}})"),
            "a3-highgpu-8g");
  EXPECT_EQ(parse_instance_size(R"({"ds": {"meta_data": {"machine-type": "a3-megagpu-8g"}}})"),
            "a3-megagpu-8g");
}

TEST(InstanceDataTest, ARedactedOrMissingSizeIsMissing) {
  for (const auto* text :
       {R"({"ds": "redacted for non-root user"})",
        R"({"ds": {"meta_data": "redacted for non-root user"}})",
        R"({"ds": {"meta_data": {"instance-type": "redacted for non-root user",
                                                    "vmSize": null, "machineType": ["a"]}}})",
        R"({"ds": {"meta_data": {"vmSize": ""}}})", R"({"v1": {"cloud_name": "nocloud"}})", "{}"}) {
    const auto result = parse_instance_size(text);
    ASSERT_FALSE(result) << text;
    EXPECT_TRUE(result.error().missing) << text;
  }
}

TEST(InstanceDataTest, InvalidJsonIsAnError) {
  for (const auto* text : {"", "{", "[]", "\xff\xfe", R"({"ds": )", "null"}) {
    const auto result = parse_instance_size(text);
    ASSERT_FALSE(result) << text;
    EXPECT_FALSE(result.error().missing) << text;
  }
}

TEST(InstanceDataTest, AcceptsDeepNesting) {
  constexpr int kDepth = 200'000;
  std::string deep;
  for (int i = 0; i < kDepth; ++i) deep += R"({"ds":)";
  deep += R"({"vmSize": "x"})";
  deep.append(kDepth, '}');
  EXPECT_FALSE(parse_instance_size(deep));
  EXPECT_FALSE(parse_instance_size(std::string(kDepth, '[')));
}

TEST(InstanceDataTest, IgnoresTextThatIsNotASize) {
  expect_refused(parse_instance_size, {R"({"ds": {"meta_data": {"vmSize": "a b"}}})",
                                       R"({"ds": {"meta_data": {"vmSize": "a\u001b[0m"}}})"});
  EXPECT_FALSE(parse_instance_size(R"({"ds": {"vmSize": ")" + std::string(200, 'a') + R"("}})"));
}

}  // namespace
}  // namespace muster
