// SPDX-License-Identifier: Apache-2.0
// NVLinks and the NVSwitch fabric.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/probes/gpu/reader.hpp"

namespace muster::nvml {
namespace {

constexpr unsigned kMaxLinks = 36;

// Bits 0 to 7 are the exponent, 8 to 11 the mantissa: mantissa times 10 to the -exponent.
double bit_error_rate(std::uint64_t encoded) {
  const auto exponent = static_cast<double>(encoded & 0xffU);
  const auto mantissa = static_cast<double>((encoded >> 8U) & 0xfU);
  return mantissa * std::pow(10.0, -exponent);
}

Fact<unsigned> count_links(const QueriedGpu& gpu, const Fact<unsigned>& known) {
  if (known) return std::min(*known, kMaxLinks);
  unsigned count = 0;
  while (count < kMaxLinks) {
    const auto state = gpu.number<int>(gpu.functions.nvlink_state, count);
    if (!state && count == 0) return as<unsigned>(state);
    if (!state) break;
    ++count;
  }
  return count;
}

Fact<std::uint64_t> errors_of_link(const QueriedGpu& gpu, const FieldValue& field, int counter) {
  auto value = gpu.answer(field);
  if (value) return value;
  return as<std::uint64_t>(gpu.number<Counter>(gpu.functions.nvlink_errors, field.scope, counter));
}

NvLink read_link(const QueriedGpu& gpu, unsigned number_of_link, const FieldValue* fields,
                 const Fact<std::uint64_t>& common_speed) {
  NvLink link{.link = number_of_link};
  link.state = as<unsigned>(gpu.answer(fields[0]));
  if (!link.state) {
    link.state = as<unsigned>(gpu.number<int>(gpu.functions.nvlink_state, number_of_link));
  }
  link.speed_mbps = gpu.answer(fields[1]);
  if (!link.speed_mbps) link.speed_mbps = common_speed;
  link.replays = errors_of_link(gpu, fields[2], kReplayCounter);
  // Blackwell has its own field.
  link.recoveries = gpu.answer(fields[6]);
  if (!link.recoveries) link.recoveries = errors_of_link(gpu, fields[3], kRecoveryCounter);
  link.crc = errors_of_link(gpu, fields[4], kCrcFlitCounter);
  const auto rate = gpu.answer(fields[5]);
  link.ber = rate ? Fact<double>(bit_error_rate(*rate)) : as<double>(rate);
  link.failed_recoveries = gpu.answer(fields[7]);
  link.receive_errors = gpu.answer(fields[8]);
  link.integrity_errors = gpu.answer(fields[9]);
  link.remote_type = as<unsigned>(gpu.number<int>(gpu.functions.nvlink_peer_type, number_of_link));
  PciInfo peer{};
  const int code = gpu.call(gpu.functions.nvlink_peer, gpu.handle, number_of_link, &peer);
  link.remote_address = gpu.call.fact(gpu.functions.nvlink_peer, code, address_of(peer));
  return link;
}

std::string cluster_of(const std::array<unsigned char, 16>& bytes) {
  if (std::ranges::all_of(bytes, [](unsigned char byte) { return byte == 0; })) return {};
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

}  // namespace

Fact<std::vector<NvLink>> read_links(const QueriedGpu& gpu, const Fact<std::uint64_t>& common_speed,
                                     const Fact<unsigned>& known_count) {
  constexpr std::array kPerLink{
      kNvlinkState,         kNvlinkSpeed,          kNvlinkReplays,       kNvlinkRecoveries,
      kNvlinkCrc,           kNvlinkEffectiveBer,   kNvlinkAllRecoveries, kNvlinkFailedRecoveries,
      kNvlinkReceiveErrors, kNvlinkIntegrityErrors};
  const auto count = count_links(gpu, known_count);
  if (!count) return as<std::vector<NvLink>>(count);
  std::vector<FieldValue> fields;
  for (unsigned link = 0; link < *count; ++link) {
    for (const auto field : kPerLink) fields.push_back({.field = field, .scope = link});
  }
  if (!fields.empty()) gpu.query(fields);
  std::vector<NvLink> links;
  for (unsigned link = 0; link < *count; ++link) {
    links.push_back(read_link(gpu, link, &fields[link * kPerLink.size()], common_speed));
  }
  return links;
}

Fact<GpuFabric> read_fabric(const QueriedGpu& gpu) {
  FabricV3 third{.version = version_word<FabricV3>(3)};
  int code = gpu.call(gpu.functions.fabric_v, gpu.handle, &third);
  const bool second = code == kVersionMismatch;
  if (second) {
    third = {.version = version_word<FabricV2>(2)};
    code = gpu.call(gpu.functions.fabric_v, gpu.handle, &third);
  }
  if (code == kOk) {
    GpuFabric fabric{.state = third.state,
                     .status = third.status,
                     .cluster = cluster_of(third.cluster),
                     .clique = third.clique,
                     .health_mask = third.health_mask};
    fabric.health_summary = second ? Fact<unsigned>::absent("this driver does not tell")
                                   : Fact<unsigned>(third.health_summary);
    return fabric;
  }
  if (gpu.functions.fabric_v.call != nullptr) {
    return Fact<GpuFabric>::failed(gpu.call.error(gpu.functions.fabric_v, code));
  }
  Fabric first{};
  code = gpu.call(gpu.functions.fabric, gpu.handle, &first);
  return gpu.call.fact(gpu.functions.fabric, code,
                       GpuFabric{.state = first.state,
                                 .status = first.status,
                                 .cluster = cluster_of(first.cluster),
                                 .clique = first.clique});
}

}  // namespace muster::nvml
