// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/identity.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

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
}

TEST(KvpParseTest, IsMissingInAnEmptyPool) { EXPECT_TRUE(parse_physical_host("").error().missing); }

TEST(KvpParseTest, RefusesAPoolThatEndsWithinARecord) {
  EXPECT_EQ(parse_physical_host(kvp_record("HostName", "a").substr(0, 2559)),
            Result<std::string>(make_error("the key-value pool ends within a record")));
}

TEST(KvpParseTest, FindsTheNameBeforeATruncatedRecord) {
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "host-7").append("rest")),
            Result<std::string>("host-7"));
}

TEST(KvpParseTest, RefusesAnInvalidHostNameWithoutRepeatingIt) {
  const Result<std::string> refused(make_error("the key-value pool holds no valid host name"));
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "")), refused);
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "a b")), refused);
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, std::string(2048, 'a'))), refused);
}

TEST(KvpParseTest, DoesNotConfuseValuesWithKeys) {
  EXPECT_TRUE(parse_physical_host(kvp_record("Note", kKey)).error().missing);
}

// The size of an instance in what cloud-init leaves of each cloud's metadata.
Result<std::string> size_told(std::string_view text) { return parse_instance_size(text); }

TEST(InstanceDataTest, ReadsAzuresSize) {
  EXPECT_EQ(size_told(R"({"v1": {"cloud_name": "azure", "platform": "azure"}, "ds": {"meta_data": {
      "instance-id": "a-b", "imds": {"compute": {"location": "westeurope",
      "tagsList": [{"name": "vmSize", "value": "x"}], "vmSize": "Standard_ND96isr_H100_v5"},
      "network": {"interface": []}}}}, "sensitive_keys": ["merged_cfg"]})"),
            "Standard_ND96isr_H100_v5");
}

TEST(InstanceDataTest, ReadsAmazonsType) {
  EXPECT_EQ(size_told(R"({"ds": {"meta_data": {"instance-type": "p5.48xlarge"}}})"), "p5.48xlarge");
  EXPECT_EQ(size_told(R"({"ds": {"meta_data": {"instance_type": "p5.48xlarge"}}})"), "p5.48xlarge");
  EXPECT_EQ(size_told(R"({"ds": {"dynamic": {"instance-identity": {"document":
      {"architecture": "x86_64", "instanceType": "p5en.48xlarge"}}}}})"),
            "p5en.48xlarge");
}

TEST(InstanceDataTest, ReadsGooglesType) {
  EXPECT_EQ(size_told(R"({"ds": {"meta_data": {"instance":
      {"machineType": "projects/4711/machineTypes/a3-highgpu-8g"}}}})"),
            "a3-highgpu-8g");
  EXPECT_EQ(size_told(R"({"ds": {"meta_data": {"machine-type": "a3-megagpu-8g"}}})"),
            "a3-megagpu-8g");
}

TEST(InstanceDataTest, ARedactedOrMissingSizeIsMissing) {
  for (const auto* text :
       {R"({"ds": "redacted for non-root user"})",
        R"({"ds": {"meta_data": "redacted for non-root user"}})",
        R"({"ds": {"meta_data": {"instance-type": "redacted for non-root user",
                                                    "vmSize": null, "machineType": ["a"]}}})",
        R"({"ds": {"meta_data": {"vmSize": ""}}})", R"({"v1": {"cloud_name": "nocloud"}})", "{}"}) {
    const auto result = size_told(text);
    ASSERT_FALSE(result) << text;
    EXPECT_TRUE(result.error().missing) << text;
  }
}

TEST(InstanceDataTest, InvalidJsonIsAnError) {
  for (const auto* text : {"", "{", "[]", "\xff\xfe", R"({"ds": )", "null"}) {
    const auto result = size_told(text);
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
  EXPECT_FALSE(size_told(deep));
  EXPECT_FALSE(size_told(std::string(kDepth, '[')));
}

TEST(InstanceDataTest, IgnoresTextThatIsNotASize) {
  EXPECT_FALSE(size_told(R"({"ds": {"meta_data": {"vmSize": "a b"}}})"));
  EXPECT_FALSE(size_told(R"({"ds": {"meta_data": {"vmSize": "a\u001b[0m"}}})"));
  EXPECT_FALSE(size_told(R"({"ds": {"vmSize": ")" + std::string(200, 'a') + R"("}})"));
}

}  // namespace
}  // namespace muster
