// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/reason.hpp"

#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

const Finding kRows{.check = "gpu.ecc_remapped_rows",
                    .device = "gpu3",
                    .outcome = Outcome::fail,
                    .message = "row remapping failed",
                    .remedy = Remedy::reseat_or_replace};

TEST(MakeReasonTest, NamesCheckDeviceFaultAndRemedy) {
  EXPECT_EQ(make_reason(kRows),
            "muster: gpu.ecc_remapped_rows gpu3: row remapping failed; reseat or replace the part");
}

TEST(MakeReasonTest, LeavesOutTheWholeNodeAndNoRemedy) {
  auto finding = kRows;
  finding.device = "node";
  finding.remedy = Remedy::none;
  EXPECT_EQ(make_reason(finding), "muster: gpu.ecc_remapped_rows: row remapping failed");
  finding.device.clear();
  EXPECT_EQ(make_reason(finding), "muster: gpu.ecc_remapped_rows: row remapping failed");
}

TEST(MakeReasonTest, MakesAllButItsOwnSemicolonHarmless) {
  auto finding = kRows;
  finding.check = "gpu.xid$x";
  finding.device = "gpu\n3";
  finding.message = "process \"$(reboot)\"; it's `x` * ? [0-9] | \xc3\xa9";
  EXPECT_EQ(make_reason(finding),
            "muster: gpu.xid x gpu 3: process reboot, it s x 0-9 -; reseat or replace the part");
}

TEST(MakeReasonTest, CutsTheMessageAndNeverTheRemedy) {
  auto finding = kRows;
  finding.message.assign(500, 'm');
  const auto reason = make_reason(finding);
  EXPECT_EQ(reason.size(), kLongestReason);
  EXPECT_TRUE(reason.starts_with("muster: gpu.ecc_remapped_rows gpu3: mmm"));
  EXPECT_TRUE(reason.ends_with("mmm...; reseat or replace the part"));

  finding.check.assign(500, 'c');
  finding.device.assign(500, 'd');
  const auto longer = make_reason(finding);
  EXPECT_EQ(longer.size(), kLongestReason);
  EXPECT_TRUE(longer.ends_with("mmm...; reseat or replace the part"));
}

TEST(MakeAdminsReasonTest, NamesTheAdmin) {
  EXPECT_EQ(make_admins_reason("alice", "swapping a cable"),
            "swapping a cable; muster-admin: alice");
  EXPECT_EQ(make_admins_reason("al'ice", "it's \n late; back soon"),
            "it s late, back soon; muster-admin: al ice");
  EXPECT_EQ(make_admins_reason("alice", std::string(500, 'x')).size(), kLongestReason);
  EXPECT_TRUE(
      make_admins_reason("alice", std::string(500, 'x')).ends_with("; muster-admin: alice"));
}

TEST(WhoseReasonTest, FollowsFromItsForm) {
  EXPECT_TRUE(is_ours(make_reason(kRows)));
  EXPECT_FALSE(is_admins(make_reason(kRows)));
  EXPECT_TRUE(is_admins(make_admins_reason("alice", "x")));
  EXPECT_FALSE(is_ours(make_admins_reason("alice", "x")));
  EXPECT_FALSE(is_ours(make_admins_reason("alice", "muster: gpu.xid gpu3: x; reset the GPU")));
  EXPECT_TRUE(is_admins("muster-admin: alice: x"));  // the form of earlier versions
  for (const auto* const foreign :
       {"", "muster", "muster:", "Muster: x", " muster: x", "NHC: muster: x", "Prolog error"}) {
    EXPECT_FALSE(is_ours(foreign)) << foreign;
    EXPECT_FALSE(is_admins(foreign)) << foreign;
  }
}

TEST(ReasonTest, CountsFurtherFaults) {
  EXPECT_EQ(
      make_reason(kRows, 2),
      "muster: gpu.ecc_remapped_rows gpu3: row remapping failed, and 2 more; reseat or replace "
      "the part");
}

TEST(ReasonTest, IsParsedBack) {
  EXPECT_EQ(parse_reason(make_reason(kRows, 2)),
            (ReasonParts{"gpu.ecc_remapped_rows", "gpu3", Remedy::reseat_or_replace}));
  EXPECT_EQ(parse_reason("muster: host.limits: 64 KiB: too little; fix the configuration"),
            (ReasonParts{"host.limits", "", Remedy::fix_config}));
  for (const auto remedy : {Remedy::watch, Remedy::restart_app, Remedy::report_to_provider}) {
    EXPECT_EQ(parse_reason(make_reason({.check = "a.b", .message = "x", .remedy = remedy})),
              (ReasonParts{"a.b", "", remedy}));
  }
  EXPECT_EQ(parse_reason("muster: a.b /mnt/x y: gone"), (ReasonParts{"a.b", "/mnt/x y"}));
}

TEST(ReasonTest, AnAdminsReasonThatBeginsLikeOursIsNotOurs) {
  for (const auto* const text :
       {"muster: looked at by bob; leave it", "muster: new node; not accepted yet",
        "muster: broken", "muster: host.limits", "muster: host.limits: too little; ask bob",
        "muster: gpu.xid node: look at it", "muster: Host.x: y", "muster: a..b: y",
        "muster-admin: bob: a.b: y", "muster: ", ""}) {
    EXPECT_EQ(parse_reason(text), std::nullopt) << text;
  }
}

TEST(ReasonTest, LeavesOutSlurmsWordsAboutReboots) {
  const std::string reason = "muster: a.b gpu3: x: y; reboot the node";
  for (const auto* const more :
       {"", " : reboot issued", ": reboot complete", " : reboot requested : reboot issued",
        " : ResumeTimeout reached", " : POWER_DOWN_ASAP"}) {
    EXPECT_EQ(without_reboot(reason + more), reason);
    EXPECT_EQ(parse_reason(reason + more), (ReasonParts{"a.b", "gpu3", Remedy::reboot}));
  }
  EXPECT_EQ(without_reboot("reboot issued"), "reboot issued");
  EXPECT_EQ(without_reboot("ResumeTimeout reached"), "");  // in the place of a reason it dropped
  EXPECT_EQ(without_reboot("waits: reboot issued by bob"), "waits: reboot issued by bob");
}

}  // namespace
}  // namespace muster::slurm
