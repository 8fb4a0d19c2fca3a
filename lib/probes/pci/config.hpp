// SPDX-License-Identifier: Apache-2.0
// Parses a PCI device's configuration space: whether it responds, its payload sizes, a bridge's
// access control services, and an HCA's uncorrectable errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "lib/base/fact.hpp"
#include "lib/node/devices.hpp"

namespace muster {

// Fills `into` from `offset`; false if the configuration space is too short. Reads are made one by
// one, because each may exit to a hypervisor.
using ReadConfig = std::function<bool(std::size_t offset, std::span<std::uint8_t> into)>;

// Sets the facts of a device from its configuration space.
void parse_pci_config(const ReadConfig& read, PciDevice& device);

// Sets all facts of parse_pci_config() but `responding` to `why` they cannot be read.
void set_config(PciDevice& device, const Fact<unsigned>& why);

}  // namespace muster
