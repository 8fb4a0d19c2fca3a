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

struct PciConfig {
  Fact<bool> responding;
  Fact<unsigned> payload_bytes;
  Fact<unsigned> payload_max_bytes;
  Fact<unsigned> acs_control;
  Fact<unsigned> uncorrectable_status;

  bool operator==(const PciConfig&) const = default;
};

// Of a bridge the access control services are looked for, of an HCA its own record of errors.
[[nodiscard]] PciConfig parse_pci_config(const ReadConfig& read, PciKind kind);

}  // namespace muster
