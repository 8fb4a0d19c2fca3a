// SPDX-License-Identifier: Apache-2.0
// muster's own declarations of NVML against NVIDIA's header, where there is one.
#include <gtest/gtest.h>

#include <cstddef>

#include "lib/probes/gpu/abi.hpp"

#ifdef MUSTER_HAS_NVML_H
#include <nvml.h>
#endif

namespace muster {
namespace {

#ifdef MUSTER_HAS_NVML_H

#define EXPECT_SAME_SIZE(ours, theirs) EXPECT_EQ(sizeof(nvml::ours), sizeof(theirs))
#define EXPECT_SAME_PLACE(ours, field, theirs, their_field) \
  EXPECT_EQ(offsetof(nvml::ours, field), offsetof(theirs, their_field))

TEST(NvmlAbiTest, StructsHaveTheSizesOfTheHeader) {
  EXPECT_SAME_SIZE(PciInfo, nvmlPciInfo_t);
  EXPECT_SAME_SIZE(Memory, nvmlMemory_t);
  EXPECT_SAME_SIZE(MemoryV2, nvmlMemory_v2_t);
  EXPECT_SAME_SIZE(Process, nvmlProcessInfo_v2_t);
  EXPECT_SAME_SIZE(ProcessV1, nvmlProcessInfo_v1_t);
  EXPECT_SAME_SIZE(Histogram, nvmlRowRemapperHistogramValues_t);
  EXPECT_SAME_SIZE(Sram, nvmlEccSramErrorStatus_v1_t);
  EXPECT_SAME_SIZE(Repair, nvmlRepairStatus_v1_t);
  EXPECT_SAME_SIZE(Temperature, nvmlTemperature_v1_t);
  EXPECT_SAME_SIZE(Margin, nvmlMarginTemperature_v1_t);
  EXPECT_SAME_SIZE(Fabric, nvmlGpuFabricInfo_t);
  EXPECT_SAME_SIZE(FabricV2, nvmlGpuFabricInfo_v2_t);
  EXPECT_SAME_SIZE(FabricV3, nvmlGpuFabricInfo_v3_t);
  EXPECT_SAME_SIZE(FieldValue, nvmlFieldValue_t);
  EXPECT_SAME_SIZE(Utilization, nvmlUtilization_t);
  EXPECT_SAME_SIZE(ConfidentialState, nvmlConfComputeSystemState_t);
}

TEST(NvmlAbiTest, FieldsHaveTheOffsetsOfTheHeader) {
  EXPECT_SAME_PLACE(PciInfo, bus_id, nvmlPciInfo_t, busId);
  EXPECT_SAME_PLACE(PciInfo, domain, nvmlPciInfo_t, domain);
  EXPECT_SAME_PLACE(Memory, used, nvmlMemory_t, used);
  EXPECT_SAME_PLACE(MemoryV2, reserved, nvmlMemory_v2_t, reserved);
  EXPECT_SAME_PLACE(MemoryV2, used, nvmlMemory_v2_t, used);
  EXPECT_SAME_PLACE(Process, memory, nvmlProcessInfo_v2_t, usedGpuMemory);
  EXPECT_SAME_PLACE(Process, gpu_instance, nvmlProcessInfo_v2_t, gpuInstanceId);
  EXPECT_SAME_PLACE(Sram, aggregate_parity, nvmlEccSramErrorStatus_v1_t, aggregateUncParity);
  EXPECT_SAME_PLACE(Sram, aggregate_sec_ded, nvmlEccSramErrorStatus_v1_t, aggregateUncSecDed);
  EXPECT_SAME_PLACE(Sram, threshold_exceeded, nvmlEccSramErrorStatus_v1_t, bThresholdExceeded);
  EXPECT_SAME_PLACE(Repair, tpc_pending, nvmlRepairStatus_v1_t, bTpcRepairPending);
  EXPECT_SAME_PLACE(Temperature, celsius, nvmlTemperature_v1_t, temperature);
  EXPECT_SAME_PLACE(FabricV3, clique, nvmlGpuFabricInfo_v3_t, cliqueId);
  EXPECT_SAME_PLACE(FabricV3, health_mask, nvmlGpuFabricInfo_v3_t, healthMask);
  EXPECT_SAME_PLACE(FabricV3, health_summary, nvmlGpuFabricInfo_v3_t, healthSummary);
  EXPECT_SAME_PLACE(ConfidentialState, feature, nvmlConfComputeSystemState_t, ccFeature);
  EXPECT_SAME_PLACE(FieldValue, scope, nvmlFieldValue_t, scopeId);
  EXPECT_SAME_PLACE(FieldValue, type, nvmlFieldValue_t, valueType);
  EXPECT_SAME_PLACE(FieldValue, code, nvmlFieldValue_t, nvmlReturn);
  EXPECT_SAME_PLACE(FieldValue, value, nvmlFieldValue_t, value);
}

TEST(NvmlAbiTest, VersionWordsAreThoseOfTheHeader) {
  EXPECT_EQ(nvml::version_word<nvml::MemoryV2>(2), nvmlMemory_v2);
  EXPECT_EQ(nvml::version_word<nvml::Sram>(1), nvmlEccSramErrorStatus_v1);
  EXPECT_EQ(nvml::version_word<nvml::Repair>(1), nvmlRepairStatus_v1);
  EXPECT_EQ(nvml::version_word<nvml::Temperature>(1), nvmlTemperature_v1);
  EXPECT_EQ(nvml::version_word<nvml::Margin>(1), nvmlMarginTemperature_v1);
  EXPECT_EQ(nvml::version_word<nvml::FabricV2>(2), nvmlGpuFabricInfo_v2);
  EXPECT_EQ(nvml::version_word<nvml::FabricV3>(3), nvmlGpuFabricInfo_v3);
}

TEST(NvmlAbiTest, ConstantsAreThoseOfTheHeader) {
  EXPECT_EQ(nvml::kNotSupported, NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml::kNoPermission, NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvml::kInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(nvml::kInsufficientPower, NVML_ERROR_INSUFFICIENT_POWER);
  EXPECT_EQ(nvml::kIrqIssue, NVML_ERROR_IRQ_ISSUE);
  EXPECT_EQ(nvml::kCorruptedInforom, NVML_ERROR_CORRUPTED_INFOROM);
  EXPECT_EQ(nvml::kGpuIsLost, NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvml::kResetRequired, NVML_ERROR_RESET_REQUIRED);
  EXPECT_EQ(nvml::kVersionMismatch, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  EXPECT_EQ(nvml::kDeprecated, NVML_ERROR_DEPRECATED);
  EXPECT_EQ(nvml::kNotReady, NVML_ERROR_NOT_READY);
  EXPECT_EQ(nvml::kUnknownError, NVML_ERROR_UNKNOWN);
  EXPECT_EQ(nvml::kMemoryTemperature, NVML_FI_DEV_MEMORY_TEMP);
  EXPECT_EQ(nvml::kNvlinkCommonSpeed, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON);
  EXPECT_EQ(nvml::kNvlinkCount, NVML_FI_DEV_NVLINK_LINK_COUNT);
  EXPECT_EQ(nvml::kNvlinkReplays, NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY);
  EXPECT_EQ(nvml::kNvlinkRecoveries, NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY);
  EXPECT_EQ(nvml::kNvlinkCrc, NVML_FI_DEV_NVLINK_ERROR_DL_CRC);
  EXPECT_EQ(nvml::kNvlinkSpeed, NVML_FI_DEV_NVLINK_GET_SPEED);
  EXPECT_EQ(nvml::kNvlinkState, NVML_FI_DEV_NVLINK_GET_STATE);
  EXPECT_EQ(nvml::kNvlinkEffectiveBer, NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER);
  EXPECT_EQ(nvml::kRecoveryAction, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
  EXPECT_EQ(nvml::kNvlinkReceiveErrors, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS);
  EXPECT_EQ(nvml::kNvlinkIntegrityErrors, NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS);
  EXPECT_EQ(nvml::kNvlinkFailedRecoveries, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS);
  EXPECT_EQ(nvml::kNvlinkAllRecoveries, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS);
  EXPECT_EQ(nvml::kThermalTime, NVML_FI_DEV_PERF_POLICY_THERMAL);
  EXPECT_EQ(nvml::kSoftwareThermalTime, NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN);
  EXPECT_EQ(nvml::kHardwareThermalTime, NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN);
  EXPECT_EQ(nvml::kPowerBrakeTime, NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN);
  EXPECT_EQ(nvml::kSmClock, NVML_CLOCK_SM);
  EXPECT_EQ(nvml::kDram, NVML_MEMORY_LOCATION_DRAM);
  EXPECT_EQ(nvml::kSram, NVML_MEMORY_LOCATION_SRAM);
  EXPECT_EQ(nvml::kDoubleBit, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR);
  EXPECT_EQ(nvml::kThresholdSlowdown, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
  EXPECT_EQ(nvml::kThresholdMemoryMax, NVML_TEMPERATURE_THRESHOLD_MEM_MAX);
  EXPECT_EQ(nvml::kPeerRead, NVML_P2P_CAPS_INDEX_READ);
}

#else

TEST(NvmlAbiTest, ComparesWithTheHeader) { GTEST_SKIP() << "no nvml.h on this machine"; }

#endif

}  // namespace
}  // namespace muster
