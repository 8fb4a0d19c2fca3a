// SPDX-License-Identifier: Apache-2.0
// The fake NVML's functions about links, the fabric, pairs of GPUs, and fields.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "lib/base/text.hpp"
#include "tests/fakes/nvml/answers.hpp"

namespace {

using namespace muster;         // NOLINT(google-build-using-namespace): all of it is a fake
using namespace muster::nvml;   // NOLINT(google-build-using-namespace): the same
using namespace muster::fakes;  // NOLINT(google-build-using-namespace): the same

const NvLink* link_of(const Gpu& gpu, unsigned number) {
  if (!gpu.nvlinks) return nullptr;
  for (const auto& link : *gpu.nvlinks) {
    if (link.link == number) return &link;
  }
  return nullptr;
}

void set(FieldValue& field, const Fact<std::uint64_t>& fact) {
  field.code = code_of(fact);
  field.type = kCounter;
  field.value.counter = fact.value_or(0);
}

template <class T>
Fact<std::uint64_t> wide(const Fact<T>& fact) {
  if (fact) return static_cast<std::uint64_t>(*fact);
  return fact.is_absent() ? Fact<std::uint64_t>::absent("") : Fact<std::uint64_t>::unreadable("");
}

// One digit is enough: 1e-13 has mantissa 1 and exponent 13.
std::uint64_t encode_rate(double rate) {
  std::uint64_t exponent = 0;
  for (; rate > 0 && rate < 0.95; rate *= 10) ++exponent;
  return (static_cast<std::uint64_t>(std::lround(rate)) << 8U) | exponent;
}

Fact<std::uint64_t> link_field(const NvLink& link, unsigned field) {
  constexpr std::array<std::pair<unsigned, Fact<std::uint64_t> NvLink::*>, 7> kCounters{{
      {kNvlinkSpeed, &NvLink::speed_mbps},
      {kNvlinkReplays, &NvLink::replays},
      {kNvlinkRecoveries, &NvLink::recoveries},
      {kNvlinkCrc, &NvLink::crc},
      {kNvlinkFailedRecoveries, &NvLink::failed_recoveries},
      {kNvlinkReceiveErrors, &NvLink::receive_errors},
      {kNvlinkIntegrityErrors, &NvLink::integrity_errors},
  }};
  if (field == kNvlinkState) return wide(link.state);
  if (field == kNvlinkEffectiveBer) {
    return link.ber ? Fact<std::uint64_t>(encode_rate(*link.ber)) : wide(link.ber);
  }
  const auto* found = std::ranges::find(kCounters, field, &decltype(kCounters)::value_type::first);
  return found == kCounters.end() ? Fact<std::uint64_t>::absent("") : link.*found->second;
}

// Blackwell and later count recoveries in another field.
[[maybe_unused]] unsigned number_of(const Gpu& gpu, unsigned field) {
  constexpr unsigned kBlackwell = 10;
  if (field != kNvlinkRecoveries && field != kNvlinkAllRecoveries) return field;
  const bool newer = gpu.architecture.value_or(0) >= kBlackwell;
  return newer == (field == kNvlinkAllRecoveries) ? kNvlinkRecoveries : 0;
}

Fact<std::uint64_t> field_of(const Gpu& gpu, const FieldValue& field) {
  const NvLink* link = link_of(gpu, field.scope);
  switch (field.field) {
    case kMemoryTemperature:
      return wide(gpu.heat.memory_c);
    case kNvlinkCount:
      return gpu.nvlinks ? Fact<std::uint64_t>(gpu.nvlinks->size()) : wide(Fact<int>::absent(""));
#if MUSTER_FAKE_BRANCH >= 570
    case kRecoveryAction:
      return wide(gpu.recovery_action);
    case kHardwareThermalTime:
      return gpu.clocks.hardware_thermal_ns;
    case kSoftwareThermalTime:
      return gpu.clocks.software_thermal_ns;
    case kPowerBrakeTime:
      return gpu.clocks.power_brake_ns;
#endif
    case kThermalTime:
      return gpu.clocks.thermal_ns;
    case kNvlinkCommonSpeed:
      return link_of(gpu, 0) == nullptr ? wide(Fact<int>::absent(""))
                                        : link_field(*link_of(gpu, 0), kNvlinkSpeed);
    default:
#if MUSTER_FAKE_BRANCH >= 535
      if (link != nullptr) return link_field(*link, number_of(gpu, field.field));
#else
      static_cast<void>(link);
#endif
      return Fact<std::uint64_t>::absent("");
  }
}

// Older branches have no fabric.
[[maybe_unused]] void copy_cluster(const GpuFabric& fabric, std::array<unsigned char, 16>& out) {
  for (std::size_t i = 0; i < out.size() && 2 * i + 1 < fabric.cluster.size(); ++i) {
    out.at(i) = static_cast<unsigned char>(parse_hex(fabric.cluster.substr(2 * i, 2)).value_or(0));
  }
}

}  // namespace

FAKE_API int nvmlDeviceGetNvLinkState(Device device, unsigned number, int* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    const auto* link = link_of(gpu, number);
    if (link == nullptr) return gpu.nvlinks ? kInvalidArgument : code_of(gpu.nvlinks);
    return give(link->state, out);
  });
}

FAKE_API int nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned number, int counter,
                                             Counter* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    const auto* link = link_of(gpu, number);
    if (link == nullptr) return kInvalidArgument;
    if (counter == kReplayCounter) return give(link->replays, out);
    if (counter == kRecoveryCounter) {
      return number_of(gpu, kNvlinkRecoveries) == 0 ? kNotSupported : give(link->recoveries, out);
    }
    return counter == kCrcFlitCounter ? give(link->crc, out) : kNotSupported;
  });
}

FAKE_API int nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned number, int* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    const auto* link = link_of(gpu, number);
    return link == nullptr ? kInvalidArgument : give(link->remote_type, out);
  });
}

FAKE_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned number, PciInfo* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    const auto* link = link_of(gpu, number);
    return link == nullptr ? kInvalidArgument : give(link->remote_address, out, pci_of);
  });
}

FAKE_API int nvmlDeviceGetP2PStatus(Device device, Device other, int capability, int* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    const Script scenario = script();
    if (!scenario) return kUninitialised;
    const auto peer = index_of(*scenario, other);
    if (!peer || capability != kPeerRead || out == nullptr) return kInvalidArgument;
    if (!gpu.peers) return code_of(gpu.peers);
    const auto found = gpu.peers->find(scenario->nvml.gpus.at(*peer).address);
    if (found == gpu.peers->end()) return kNotSupported;
    *out = static_cast<int>(found->second);
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetFieldValues(Device device, int count, FieldValue* fields) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (fields == nullptr || count <= 0) return kInvalidArgument;
    std::for_each(fields, fields + count,
                  [&](FieldValue& field) { set(field, field_of(gpu, field)); });
    return kOk;
  });
}

#if MUSTER_FAKE_BRANCH >= 535
FAKE_API int nvmlDeviceGetGpuFabricInfoV(Device device, FabricV3* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
#if MUSTER_FAKE_BRANCH >= 570
    const bool third = out->version == version_word<FabricV3>(3);
#else
    const bool third = false;
#endif
    if (!third && out->version != version_word<FabricV2>(2)) return kVersionMismatch;
    if (!gpu.fabric) return code_of(gpu.fabric);
    copy_cluster(*gpu.fabric, out->cluster);
    out->status = gpu.fabric->status;
    out->clique = gpu.fabric->clique;
    out->state = static_cast<unsigned char>(gpu.fabric->state);
    out->health_mask = gpu.fabric->health_mask.value_or(0);
    if (third) {
      out->health_summary = static_cast<unsigned char>(gpu.fabric->health_summary.value_or(0));
    }
    return kOk;
  });
}
#endif
