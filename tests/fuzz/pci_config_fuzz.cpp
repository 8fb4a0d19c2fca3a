// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as PCI configuration space: every list ends, and returned values are valid.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "lib/probes/parse/parse.hpp"

namespace muster {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void parse(std::span<const std::uint8_t> bytes, PciKind kind) {
  const auto read = [bytes](std::size_t offset, std::span<std::uint8_t> into) {
    if (offset > bytes.size() || into.size() > bytes.size() - offset) return false;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return true;
  };
  PciDevice config{.kind = kind};
  parse_pci_config(read, config);
  for (const auto& fact : {config.payload_bytes, config.payload_max_bytes}) {
    require(!fact || (*fact >= 128 && *fact <= 4096));
    require(fact.known() || !fact.why().empty());
  }
  require(!config.acs_control || (kind == PciKind::bridge && *config.acs_control <= 0xffff));
  require(config.responding.known() || config.responding.is_unreadable());
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::parse({data, size}, muster::PciKind::bridge);
  muster::parse({data, size}, muster::PciKind::hca);
  return 0;
}
