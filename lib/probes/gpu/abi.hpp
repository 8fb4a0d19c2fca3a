// SPDX-License-Identifier: Apache-2.0
// The parts of NVML's binary interface that muster uses, so that building needs no NVIDIA header. A
// test compares them with nvml.h if that is installed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace muster::nvml {

using Device = struct DeviceHandle*;  // NVML's; opaque
using Counter = unsigned long long;   // NOLINT(google-runtime-int): as NVML declares it

// Return codes.
inline constexpr int kOk = 0;
inline constexpr int kNotSupported = 3;
inline constexpr int kNoPermission = 4;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kInsufficientPower = 8;
inline constexpr int kIrqIssue = 11;
inline constexpr int kLibraryNotFound = 12;
inline constexpr int kFunctionNotFound = 13;
inline constexpr int kCorruptedInforom = 14;
inline constexpr int kGpuIsLost = 15;
inline constexpr int kResetRequired = 16;
inline constexpr int kVersionMismatch = 25;
inline constexpr int kDeprecated = 26;
inline constexpr int kNotReady = 27;
inline constexpr int kUnknownError = 999;

struct PciInfo {
  std::array<char, 16> bus_id_legacy;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;  // device << 16 | vendor
  unsigned subsystem_id;
  std::array<char, 32> bus_id;
};

struct Memory {
  Counter total, free, used;
};

struct MemoryV2 {
  unsigned version;
  Counter total, reserved, free, used;
};

struct Process {
  unsigned pid;
  Counter memory;  // all ones: not available
  unsigned gpu_instance, compute_instance;
};

struct ProcessV1 {
  unsigned pid;
  Counter memory;
};

struct Histogram {
  unsigned max, high, partial, low, none;
};

struct Sram {
  unsigned version;
  Counter aggregate_parity, aggregate_sec_ded, aggregate_corrected;
  Counter volatile_parity, volatile_sec_ded, volatile_corrected;
  Counter bucket_l2, bucket_sm, bucket_pcie, bucket_mcu, bucket_other;
  unsigned threshold_exceeded;
};

struct Repair {
  unsigned version, channel_pending, tpc_pending;
};

struct Temperature {
  unsigned version;
  int sensor, celsius;
};

struct Margin {
  unsigned version;
  int celsius;
};

struct Utilization {
  unsigned gpu, memory;
};

struct ConfidentialState {
  unsigned environment, feature, developer_tools;
};

struct Fabric {
  std::array<unsigned char, 16> cluster;
  int status;
  unsigned clique;
  unsigned char state;
};

struct FabricV2 {
  unsigned version;
  std::array<unsigned char, 16> cluster;
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health_mask;
};

struct FabricV3 {
  unsigned version;
  std::array<unsigned char, 16> cluster;
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health_mask;
  unsigned char health_summary;
};

union Value {
  double number;
  unsigned natural;
  Counter counter;
  long long signed_counter;  // NOLINT(google-runtime-int): as NVML declares it
  int integer;
  unsigned short small;  // NOLINT(google-runtime-int): as NVML declares it
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  std::int64_t timestamp_us, latency_us;
  int type;
  int code;
  Value value;
};

static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);
static_assert(sizeof(Memory) == 24);
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, used) == 32);
static_assert(sizeof(Process) == 24 && sizeof(ProcessV1) == 16);
static_assert(sizeof(Histogram) == 20);
static_assert(sizeof(Sram) == 104 && offsetof(Sram, threshold_exceeded) == 96);
static_assert(sizeof(Repair) == 12 && sizeof(Temperature) == 12 && sizeof(Margin) == 8);
static_assert(sizeof(Utilization) == 8 && sizeof(ConfidentialState) == 12);
static_assert(sizeof(Fabric) == 28 && offsetof(Fabric, state) == 24);
static_assert(sizeof(FabricV2) == 36 && offsetof(FabricV2, health_mask) == 32);
static_assert(sizeof(FabricV3) == 40 && offsetof(FabricV3, health_summary) == 36);
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

// The value of the first field of a versioned struct.
template <class T>
constexpr unsigned version_word(unsigned version) {
  return static_cast<unsigned>(sizeof(T)) | (version << 24U);
}

// Types of a field's value.
inline constexpr int kDouble = 0;
inline constexpr int kNatural = 1;
inline constexpr int kLong = 2;
inline constexpr int kCounter = 3;
inline constexpr int kSignedCounter = 4;
inline constexpr int kInteger = 5;
inline constexpr int kSmall = 6;

// Fields of nvmlDeviceGetFieldValues.
inline constexpr unsigned kMemoryTemperature = 82;
inline constexpr unsigned kNvlinkCommonSpeed = 90;
inline constexpr unsigned kNvlinkCount = 91;
inline constexpr unsigned kNvlinkReplays = 161;
inline constexpr unsigned kNvlinkRecoveries = 162;
inline constexpr unsigned kNvlinkCrc = 163;
inline constexpr unsigned kNvlinkSpeed = 164;
inline constexpr unsigned kNvlinkState = 165;
inline constexpr unsigned kNvlinkReceiveErrors = 208;
inline constexpr unsigned kNvlinkIntegrityErrors = 211;
inline constexpr unsigned kNvlinkFailedRecoveries = 214;
inline constexpr unsigned kNvlinkAllRecoveries = 215;
inline constexpr unsigned kNvlinkEffectiveBer = 220;
inline constexpr unsigned kRecoveryAction = 230;
inline constexpr unsigned kThermalTime = 75;
inline constexpr unsigned kSoftwareThermalTime = 269;
inline constexpr unsigned kHardwareThermalTime = 270;
inline constexpr unsigned kPowerBrakeTime = 271;

inline constexpr int kSmClock = 1;
inline constexpr int kCorrected = 0;
inline constexpr int kUncorrected = 1;
inline constexpr int kVolatile = 0;
inline constexpr int kAggregate = 1;
inline constexpr int kDram = 2;
inline constexpr int kSram = 7;
inline constexpr int kSeveralSingleBit = 0;
inline constexpr int kDoubleBit = 1;
inline constexpr int kThresholdSlowdown = 1;
inline constexpr int kThresholdMemoryMax = 2;
inline constexpr int kReplayCounter = 0;
inline constexpr int kRecoveryCounter = 1;
inline constexpr int kCrcFlitCounter = 2;
inline constexpr int kPeerRead = 0;
inline constexpr Counter kNotAvailable = ~Counter{0};

}  // namespace muster::nvml
