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
  for (const auto& [name, pairs] : transport.pairs) require_printable({name});
  for (const auto* texts : {&transport.networks, &transport.hcas, &transport.warnings}) {
    require_printable(*texts);
  }
  const auto again = parse_transport(shorten_log(log));
  require(again.pairs == transport.pairs);
  require(again.no_hca == transport.no_hca);
  require(again.nvls_connected == transport.nvls_connected);
  const auto all = parse_requirements("ib,gdr,p2p,nvlink,mnnvl,nvls,sharp").value();
  for (const auto& result : check_requirements(transport, {0, 0, 1, 1}, all)) {
    require(printable(result.what, kAnyLength) == result.what);
    require(printable(result.cause, kAnyLength) == result.cause);
  }
}

}  // namespace
}  // namespace muster::bench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::bench::parse({reinterpret_cast<const char*>(data), size});
  return 0;
}
