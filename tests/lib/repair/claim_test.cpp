// SPDX-License-Identifier: Apache-2.0
#include "lib/repair/claim.hpp"

#include <fmt/format.h>

#include "lib/base/clock.hpp"
#include "tests/support/matchers.hpp"

namespace muster::repair {
namespace {

constexpr std::string_view kRemap = "Resource.Hpc.Unhealthy.HpcRowRemapFailure";

const AzureRules kAzure{.subscription = "0000-11", .resource_group = "gpus"};
const GcpRules kGcp{.project = "example.com:gpus", .zone = "us-central1-a"};

std::chrono::sys_seconds at(std::string_view text) { return *parse_utc(text); }

Finding failure(std::string check, std::string device, std::string category = "") {
  Finding finding;
  finding.check = std::move(check);
  finding.device = std::move(device);
  finding.outcome = Outcome::fail;
  finding.message = "busbw 120 GB/s";
  finding.observed = 120.0;
  finding.limit = 185.0;
  finding.unit = "GB/s";
  finding.remedy = Remedy::report_to_provider;
  finding.category = std::move(category);
  return finding;
}

Report report(std::string started, std::string boot, std::vector<Finding> findings) {
  Report made;
  made.node = "gpu-1";
  made.started = std::move(started);
  made.boot_id = std::move(boot);
  made.physical_host = "GGBB90904476";
  made.findings = std::move(findings);
  made.checks.push_back(
      {.id = "bench.gemm", .outcome = made.findings.empty() ? Outcome::pass : Outcome::fail});
  made.parts = {{.kind = "gpu",
                 .device = "gpu3",
                 .serial = "1650000066",
                 .model = "NVIDIA H100",
                 .firmware = "96.00",
                 .address = "0000:0a:00.0"},
                {.kind = "gpu", .device = "gpu4", .serial = "1650000067"}};
  made.stack = {{"driver", "580.105"}};
  return made;
}

std::string why_not(std::vector<Report> reports) {
  const auto claim = make_claim(std::move(reports));
  return claim ? "" : claim.error().message;
}

TEST(MakeClaimTest, NeedsTheSameFailureTwiceOrHardEvidence) {
  const auto slow = failure("bench.gemm", "gpu3");
  const auto once = report("2026-11-01T10:00:00Z", "a", {slow});
  EXPECT_THAT(why_not({}), HasSubstr("muster evidence"));
  EXPECT_THAT(
      why_not({once}),
      HasSubstr("bench.gemm gpu3 is not proven (seen 1 time, last at 2026-11-01T10:00:00Z): "));
  // Nine minutes apart, in the same boot.
  EXPECT_THAT(why_not({once, report("2026-11-01T10:09:00Z", "a", {slow})}),
              HasSubstr("seen 2 times"));
  EXPECT_EQ(why_not({once, report("2026-11-01T10:10:00Z", "a", {slow})}), "");
  EXPECT_EQ(why_not({once, report("2026-11-01T10:01:00Z", "b", {slow})}), "");
  // Another device, and another check.
  EXPECT_THAT(why_not({once, report("2026-11-01T12:00:00Z", "a", {failure("bench.gemm", "gpu4")})}),
              HasSubstr("bench.gemm gpu4 is not proven (seen 1 time"));
  EXPECT_THAT(why_not({once, report("2026-11-01T12:00:00Z", "a", {failure("gpu.clocks", "gpu3")})}),
              HasSubstr("gpu.clocks gpu3 is not proven"));
  // It passes now.
  EXPECT_THAT(why_not({once, once, report("2026-11-01T12:00:00Z", "a", {})}),
              HasSubstr("nothing to claim"));
  for (const auto* hard : {"HpcRowRemapFailure", "HpcMissingGpu", "MissingIB",
                           "HpcInforomCorruption", "XID79FallenOffBus"}) {
    EXPECT_EQ(why_not({report(
                  "2026-11-01T10:00:00Z", "a",
                  {failure("gpu.any", "gpu3", std::string("Resource.Hpc.Unhealthy.") + hard)})}),
              "");
  }
  const auto is_hard = [](std::string_view category, Remedy remedy) {
    return is_hard_evidence(fmt::format("Resource.Hpc.Unhealthy.{}", category), remedy);
  };
  EXPECT_FALSE(is_hard("IBPerformance", Remedy::report_to_provider));
  EXPECT_FALSE(is_hard("HpcRowRemapFailure", Remedy::reset_gpu)) << "rows wait to be remapped";
  EXPECT_TRUE(is_hard("DBEOverLimit", Remedy::reseat_or_replace));
  EXPECT_TRUE(is_hard("XID95UncontainedECCError", Remedy::reset_gpu));
  EXPECT_FALSE(is_hard_evidence("HpcRowRemapFailure", Remedy::report_to_provider));
}

TEST(MakeClaimTest, LeavesOutWhatAProviderCannotRepair) {
  auto busy = failure("gpu.processes", "gpu3");
  busy.remedy = Remedy::fix_config;
  EXPECT_THAT(why_not({report("2026-11-01T10:00:00Z", "a", {busy}),
                       report("2026-11-02T10:00:00Z", "b", {busy})}),
              HasSubstr("nothing to claim"));
}

Claim slow_claim() {
  const auto slow = failure("bench.gemm", "gpu3");
  return *make_claim(
      {report("2026-11-02T10:00:00Z", "b", {slow}), report("2026-11-01T10:00:00Z", "a", {slow})});
}

TEST(MakeClaimTest, NamesThePartAndEachTimeItWasSeen) {
  const auto claim = slow_claim();
  ASSERT_EQ(claim.parts.size(), 1U);
  EXPECT_EQ(claim.parts[0].serial, "1650000066");
  ASSERT_EQ(claim.seen.size(), 2U);
  EXPECT_EQ(claim.seen[0].at, "2026-11-01T10:00:00Z");
  EXPECT_EQ(claim.observed, "120 GB/s");
  EXPECT_EQ(claim.limit, "185 GB/s");
  EXPECT_THAT(claim_text(claim), HasSubstr("serial 1650000066"));
}

TEST(AzurePayloadTest, IsTheFormOfGuestHealthReporting) {
  auto claim = slow_claim();
  claim.category = kRemap;
  claim.vm_id = "b8c6-11";
  const auto payload = azure_payload(claim, kAzure, at("2026-11-02T10:05:00Z"));
  ASSERT_TRUE(payload) << payload.error().message;
  EXPECT_EQ(
      *payload,
      R"({"properties":{"startDateTime":"2026-11-01T10:00:00Z",)"
      R"("reportedTimeUtc":"2026-11-02T10:05:00Z",)"
      R"("impactCategory":"Resource.Hpc.Unhealthy.HpcRowRemapFailure",)"
      R"("impactDescription":"gpu_row_remap_failure: GPU 3 (SXM3 SN:1650000066): row remap )"
      R"(failure. bench.gemm gpu3: busbw 120 GB/s; observed 120 GB/s, limit 185 GB/s; )"
      R"(seen 2 times since 2026-11-01T10:00:00Z",)"
      R"("impactedResourceId":"/subscriptions/0000-11/resourceGroups/gpus/providers/)"
      R"(Microsoft.Compute/virtualMachines/gpu-1",)"
      R"("additionalProperties":{"CollectTelemetry":"0","Location":"0000:0a:00.0",)"
      R"("Manufacturer":"Nvidia","ModelNumber":"NVIDIA H100","PhysicalHostName":"GGBB90904476",)"
      R"("SerialNumber":"1650000066","UCE":"1","VmUniqueId":"b8c6-11"}}})");
}

TEST(AzurePayloadTest, NamesWhatIsMissing) {
  auto claim = slow_claim();
  const auto why = [&](const AzureRules& rules) {
    const auto payload = azure_payload(claim, rules, at("2026-11-02T10:05:00Z"));
    return payload ? "" : payload.error().message;
  };
  EXPECT_THAT(why({}), HasSubstr("repair.azure.subscription"));
  EXPECT_THAT(why({.subscription = "s"}), HasSubstr("repair.azure.resource_group"));
  claim.physical_host = "";
  EXPECT_THAT(why(kAzure), HasSubstr("--vm-id"));
}

TEST(ClaimTest, HostileTextsStayData) {
  auto claim = slow_claim();
  claim.message = "\"}],\"impactCategory\":\"x\" \x1b[2J\n; $(reboot) `id` 'a', b";
  claim.parts[0].serial = "1\"\\\n{}";
  const auto payload = azure_payload(claim, kAzure, at("2026-11-02T10:05:00Z"));
  ASSERT_TRUE(payload);
  EXPECT_THAT(*payload, HasSubstr(R"(\"}],\"impactCategory\":\"x\")"));
  EXPECT_THAT(*payload, HasSubstr(R"("SerialNumber":"1\"\\\n{}")"));
  EXPECT_THAT(*payload, Not(HasSubstr("\x1b")));
  EXPECT_THAT(claim_text(claim), Not(HasSubstr("\x1b")));
  const auto words = gcp_arguments(claim, kGcp);
  ASSERT_TRUE(words);
  ASSERT_EQ(words->size(), 9U);
  // gcloud would split the description at a comma.
  EXPECT_EQ(words->back().find(',', words->back().find("description=")), std::string::npos);
  EXPECT_THAT(shell_text(*words), HasSubstr(R"('\''a'\'')"));
  for (const auto* node : {"--flag", "", "a b", "../x", "a;b", ".x"}) {
    claim.node = node;
    EXPECT_FALSE(azure_payload(claim, kAzure, at("2026-11-02T10:05:00Z"))) << node;
    EXPECT_FALSE(gcp_arguments(claim, kGcp)) << node;
  }
}

TEST(ClaimTest, HasTheWordsOfEachClient) {
  auto claim = slow_claim();
  const auto gcp = gcp_arguments(claim, kGcp);
  ASSERT_TRUE(gcp);
  EXPECT_THAT(std::vector(gcp->begin(), gcp->begin() + 8),
              ElementsAre("gcloud", "compute", "instances", "report-host-as-faulty", "gpu-1",
                          "--project=example.com:gpus", "--zone=us-central1-a",
                          "--disruption-schedule=IMMEDIATE"));
  EXPECT_THAT(gcp->back(), HasSubstr("behavior=PERFORMANCE,description=bench.gemm gpu3"));
  EXPECT_THAT(gcp_arguments(claim, {}).error().message, HasSubstr("repair.gcp.project"));
  EXPECT_THAT(oci_arguments(claim).error().message, HasSubstr("--vm-id"));
  claim.vm_id = "ocid1.instance.x";
  EXPECT_THAT(shell_text(*oci_arguments(claim)),
              HasSubstr("oci compute instance update --instance-id=ocid1.instance.x "
                        "'--defined-tags={\"ComputeInstanceHostActions\""));
}

TEST(OpenClaimTest, IsOnePerHostPartAndCategory) {
  const auto claim = record_of(slow_claim(), "azure");
  auto other = claim;
  other.id = "a";
  other.state = State::sent;
  EXPECT_EQ(open_claim({other}, claim)->id, "a");
  // The same host under another name.
  other.node = "gpu-7";
  EXPECT_NE(open_claim({other}, claim), nullptr);
  other.provider = "gcp";
  EXPECT_NE(open_claim({other}, claim), nullptr) << "printed for another provider";
  for (const auto state : {State::verified, State::cancelled, State::reopened}) {
    other.state = state;
    EXPECT_EQ(open_claim({other}, claim), nullptr);
  }
  for (const auto change : {+[](RepairRecord& each) { each.physical_host = "other"; },
                            +[](RepairRecord& each) { each.serials = {"2"}; },
                            +[](RepairRecord& each) { each.category = "other"; }}) {
    other = claim;
    other.state = State::sent;
    change(other);
    EXPECT_EQ(open_claim({other}, claim), nullptr);
  }
}

TEST(NextStateTest, FollowsLaterReports) {
  auto claim = record_of(slow_claim(), "text");
  claim.at = "2026-11-03T00:00:00Z";
  claim.state = State::out;
  const auto slow = failure("bench.gemm", "gpu3");
  const auto after = [&](Report newest) { return next_state(claim, {std::move(newest)}); };
  // Older, or in the same boot.
  EXPECT_EQ(after(report("2026-11-02T00:00:00Z", "c", {})), std::nullopt);
  EXPECT_EQ(after(report("2026-11-04T00:00:00Z", "b", {})), std::nullopt);
  EXPECT_EQ(after(report("2026-11-04T00:00:00Z", "c", {})), State::verified);
  EXPECT_EQ(after(report("2026-11-04T00:00:00Z", "c", {slow})), State::reopened);
  // Another part failed.
  auto replaced = report("2026-11-04T00:00:00Z", "c", {slow});
  replaced.parts[0].serial = "9";
  EXPECT_EQ(after(replaced), State::returned);
  // The check was not judged.
  auto unjudged = report("2026-11-04T00:00:00Z", "c", {});
  unjudged.checks.clear();
  EXPECT_EQ(after(unjudged), State::returned);
  claim.state = State::returned;
  EXPECT_EQ(after(unjudged), std::nullopt);
  EXPECT_EQ(after(report("2026-11-04T00:00:00Z", "c", {})), State::verified);
  EXPECT_EQ(after(report("2026-11-04T00:00:00Z", "c", {slow})), State::reopened);
  claim.state = State::sent;
  EXPECT_EQ(after(report("2026-11-04T00:00:00Z", "c", {slow})), std::nullopt);
  claim.state = State::verified;
  EXPECT_EQ(after(report("2026-11-04T00:00:00Z", "c", {})), std::nullopt);
}

}  // namespace
}  // namespace muster::repair
