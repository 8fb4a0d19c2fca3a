// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as an NCCL topology file: it is read or refused, and kept values are printable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/probes/parse/parse.hpp"

namespace muster {
namespace {

constexpr std::size_t kAnyLength = 1UL << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

void parse(std::string_view text) {
  const auto topology = parse_nccl_topology(text);
  if (!topology) {
    require(printable(topology.error().message, kAnyLength) == topology.error().message);
    require(!topology.error().message.empty());
    return;
  }
  for (const auto* list : {&topology->pci_addresses, &topology->cpu_affinities}) {
    for (const auto& each : *list) require(printable(each, kAnyLength) == each);
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::parse({reinterpret_cast<const char*>(data), size});
  return 0;
}
