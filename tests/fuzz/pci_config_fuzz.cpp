// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as PCI configuration space: every list ends, and returned values are valid.
#include <algorithm>
#include <span>
#include <vector>

#include "lib/probes/parse/parse.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster {
namespace {

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

void fuzz(std::string_view text) {
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  parse(bytes, PciKind::bridge);
  parse(bytes, PciKind::hca);
}

}  // namespace muster
