// SPDX-License-Identifier: Apache-2.0
// What a PCI device's configuration space says: does it answer, its payload sizes, a bridge's
// access control services, and the uncorrectable errors that an HCA has on record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "lib/base/fact.hpp"
#include "lib/node/pci.hpp"

namespace muster {

// Fills all of `into` from `offset`; false where the configuration space ends before. Reads are
// asked for one by one, because under a hypervisor each of them may leave the guest.
using ReadConfig = std::function<bool(std::size_t offset, std::span<std::uint8_t> into)>;

// Fills in what the configuration space says of the device; of a bridge its access control
// services, too, and of an HCA its own record of errors.
void parse_pci_config(const ReadConfig& read, PciDevice& device);

// Sets each value that parse_pci_config() reads, but not whether the device answers, to `why` it
// cannot be read.
void set_config(PciDevice& device, const Fact<unsigned>& why);

}  // namespace muster
