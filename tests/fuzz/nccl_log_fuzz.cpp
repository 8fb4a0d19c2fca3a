// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as NCCL's log: results are printable, and shortening does not change them.

#include "bench/backends/nccl/requirements.hpp"
#include "bench/backends/nccl/transport.hpp"
#include "tests/fuzz/fuzz.hpp"

void muster::fuzz(std::string_view log) {
  using namespace bench;  // NOLINT(google-build-using-namespace)
  const auto transport = parse_transport(log);
  for (const auto& [name, pairs] : transport.pairs) require_printable(name);
  for (const auto* texts : {&transport.networks, &transport.hcas, &transport.warnings}) {
    for (const auto& text : *texts) require_printable(text);
  }
  const auto again = parse_transport(shorten_log(log));
  require(again.pairs == transport.pairs);
  require(again.no_hca == transport.no_hca);
  require(again.nvls_connected == transport.nvls_connected);
  const auto all = parse_requirements("ib,gdr,p2p,nvlink,mnnvl,nvls,sharp").value();
  for (const auto& result : check_requirements(transport, {0, 0, 1, 1}, all)) {
    require_printable(result.what);
    require_printable(result.cause);
  }
}
