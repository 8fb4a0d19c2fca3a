// SPDX-License-Identifier: Apache-2.0
// Every check that NHC and Azure document has a row, and every row can be carried out.
#include "checks/nhc_conf/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::nhc::table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::array kDocumented{
    "check_cmd_output", "check_cmd_status", "check_dmi_data_match", "check_dmi_raw_data_match",
    "check_file_contents", "check_file_stat", "check_file_test", "check_fs_inodes",
    "check_fs_ifree", "check_fs_iused", "check_fs_mount", "check_fs_mount_ro", "check_fs_mount_rw",
    "check_fs_free", "check_fs_size", "check_fs_used", "check_hw_cpuinfo", "check_hw_eth",
    "check_hw_gm", "check_hw_ib", "check_hw_mcelog", "check_hw_mem", "check_hw_mem_free",
    "check_hw_physmem", "check_hw_physmem_free", "check_hw_swap", "check_hw_swap_free",
    "check_moab_sched", "check_moab_rm", "check_moab_torque", "check_net_ping", "check_net_socket",
    "check_nv_healthmon", "check_ps_blacklist", "check_ps_cpu", "check_ps_daemon",
    "check_ps_kswapd", "check_ps_loadavg", "check_ps_mem", "check_ps_physmem", "check_ps_service",
    "check_ps_time", "check_ps_unauth_users", "check_ps_userproc_lineage",
    // Azure's
    "check_gpu_count", "check_nvsmi_healthmon", "check_gpu_xid", "check_gpu_ecc",
    "check_gpu_clock_throttling", "check_app_gpu_clocks", "check_gpu_persistence",
    "check_vbios_version", "check_nvlink_status", "check_ib_link_flapping", "check_hw_topology",
    "check_nvme_count", "check_nccl_allreduce", "check_nccl_allreduce_ib_loopback", "check_gpu_bw",
    "check_ib_bw_gdr", "check_ib_bw_non_gdr", "check_cpu_stream", "check_gpu_xgmi",
    "check_rccl_allreduce"};

TEST(NhcTableTest, HasEveryDocumentedCheck) {
  for (const auto* name : kDocumented) EXPECT_NE(row_named(name), nullptr) << name;
  EXPECT_EQ(row_named("check_nothing"), nullptr);
}

TEST(NhcTableTest, EachRowHasOneAnswer) {
  std::set<std::string_view> names;
  for (const auto& row : table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.judge == nullptr && row.checks.empty(), !row.why.empty()) << row.name;
    EXPECT_EQ(row.literal != nullptr, row.literal_needs != ProbeSet()) << row.name;
    EXPECT_LE(row.least, row.most) << row.name;
    EXPECT_EQ(row.judge != nullptr, row.needs != ProbeSet()) << row.name;
  }
}

TEST(NhcTableTest, ChecksOfMustersOwnExist) {
  for (const auto& row : table()) {
    for (const auto check : row.checks) {
      EXPECT_TRUE(std::ranges::any_of(checks::kAll, [&](const auto* c) { return c->id == check; }))
          << row.name << " " << check;
    }
  }
}

// Every preset that a row makes is taken by a profile.
TEST(NhcTableTest, PresetsAreKeysOfTheProfile) {
  const Profile untouched;
  for (const auto& row : table()) {
    if (row.keys.empty()) continue;
    const auto presets = presets_of(row, {"3"});
    ASSERT_TRUE(presets) << row.name;
    ASSERT_FALSE(presets->empty()) << row.name;
    Profile profile;
    EXPECT_TRUE(apply(*presets, profile)) << row.name;
  }
  Profile profile;
  EXPECT_EQ(apply({{.key = "gpu.nothing", .value = "1"}}, profile).error().message,
            "no value gpu.nothing");
}

TEST(NhcPresetsTest, MeanWhatAzuresArgumentsMean) {
  Profile profile;
  const auto take = [&](const Result<std::vector<Preset>>& presets) {
    ASSERT_TRUE(presets);
    ASSERT_TRUE(apply(*presets, profile));
  };
  take(presets_of(*row_named("check_gpu_count"), {"8"}));
  take(presets_of(*row_named("check_gpu_ecc"), {"20000000", "10000"}));
  take(presets_of(*row_named("check_gpu_xid"), {"2"}));
  take(presets_of(*row_named("check_ib_link_flapping"), {"24", "5", "/var/log/syslog"}));
  take(presets_of(*row_named("check_nvme_count"), {"8"}));
  EXPECT_EQ(profile.gpu->present.count, 8);
  EXPECT_EQ(profile.gpu->ecc_corrected.dram_warn_above, 20000000);
  EXPECT_EQ(profile.gpu->ecc_corrected.sram_warn_above, 10000);
  EXPECT_EQ(profile.policies["gpu.ecc_corrected"].warn_as, Outcome::fail);
  EXPECT_EQ(profile.gpu->xid.window, Seconds{7200});
  EXPECT_EQ(profile.ib->flaps.window, Seconds{86400});
  EXPECT_EQ(profile.ib->flaps.max, 4);  // five are too many
  EXPECT_EQ(profile.host->nvme.count, 8);
}

TEST(NhcPresetsTest, LeaveOutWhatIsNotSaid) {
  EXPECT_THAT(presets_of(*row_named("check_gpu_ecc"), {}).value(), IsEmpty());
  EXPECT_THAT(presets_of(*row_named("check_gpu_ecc"), {"", "7"}).value(),
              ElementsAre(Preset{"gpu.ecc_corrected.sram_warn_above", "7"},
                          Preset{"gpu.ecc_corrected.warn_as", "fail"}));
}

TEST(NhcPresetsTest, RefuseWhatTheyCannotMean) {
  EXPECT_THAT(presets_of(*row_named("check_gpu_count"), {"8", "nvidia"}).value(),
              ElementsAre(Preset{"gpu.present.count", "8"}));
  EXPECT_EQ(presets_of(*row_named("check_gpu_count"), {"many"}).error().message,
            "expects a whole number, got \"many\"");
  EXPECT_FALSE(presets_of(*row_named("check_nvme_count"), {"99999999999"}));
}

}  // namespace
}  // namespace muster::nhc::table_test
