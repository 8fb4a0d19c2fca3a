// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as NCCL's log: results are printable, and shortening does not change them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bench/backends/nccl/requirements.hpp"
#include "bench/backends/nccl/transport.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kAnyLength = 1UL << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

void require_printable(const std::set<std::string>& texts) {
  for (const auto& text : texts) require(printable(text, kAnyLength) == text);
}

void parse(std::string_view log) {
  const auto transport = parse_transport(log);
  transport.pairs.for_each([&](int from, int to, RankPairs::Ways ways) {
    require_printable(transport.pairs.names_of(ways));
    require(transport.pairs.between(from, to) == transport.pairs.names_of(ways));
  });
  for (const auto* texts : {&transport.networks, &transport.hcas, &transport.warnings}) {
    require_printable(*texts);
  }
  const auto again = parse_transport(telling_lines(log));
  require(again.pairs == transport.pairs);
  require(again.no_hca == transport.no_hca);
  require(again.nvls_connected == transport.nvls_connected);
  const auto ways = parse_ways("ib,gdr,p2p,nvlink,mnnvl,nvls,sharp").value_or(std::vector<Way>{});
  for (const auto& taken : ways_taken(transport, {0, 0, 1, 1}, ways)) {
    require(printable(taken.what, kAnyLength) == taken.what);
    require(printable(taken.cause, kAnyLength) == taken.cause);
  }
}

}  // namespace
}  // namespace muster::bench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::bench::parse({reinterpret_cast<const char*>(data), size});
  return 0;
}
