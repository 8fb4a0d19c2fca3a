// SPDX-License-Identifier: Apache-2.0
#include "lib/node/parts.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {

std::vector<Part> parts_of(const Snapshot& snapshot) {
  std::vector<Part> parts;
  for (const auto& gpu : snapshot.nvml->gpus) {
    parts.push_back({.kind = "gpu",
                     .device = fmt::format("gpu{}", gpu.index),
                     .serial = gpu.serial.value_or(gpu.uuid.value_or("")),
                     .model = gpu.model.value_or(""),
                     .firmware = gpu.firmware.vbios.value_or(""),
                     .address = gpu.address});
  }
  for (const auto& gpu : snapshot.pci->amd_gpus) {
    parts.push_back({.kind = "gpu",
                     .device = gpu.address,
                     .serial = gpu.serial.value_or(""),
                     .model = "",
                     .firmware = gpu.vbios.value_or(""),
                     .address = gpu.address});
  }
  for (const auto& hca : snapshot.infiniband->hcas) {
    if (hca.virtual_function) continue;
    parts.push_back({.kind = "hca",
                     .device = hca.name,
                     .serial = hca.node_guid.value_or(""),
                     .model = hca.type.value_or(""),
                     .firmware = hca.firmware.value_or(""),
                     .address = hca.address.value_or("")});
  }
  return parts;
}

std::map<std::string, std::set<std::string>> firmware_of(const std::vector<Part>& parts) {
  std::map<std::string, std::set<std::string>> versions;
  for (const auto& part : parts) {
    if (!part.firmware.empty()) versions[part.kind].insert(part.firmware);
  }
  return versions;
}

ByName<std::string> stack_of(const Snapshot& snapshot) {
  constexpr std::size_t kLongest = 80;
  ByName<std::string> stack;
  if (snapshot.kernel->release) stack["kernel"] = printable(*snapshot.kernel->release, kLongest);
  if (snapshot.nvml->driver) stack["driver"] = printable(*snapshot.nvml->driver, kLongest);
  return stack;
}

}  // namespace muster
