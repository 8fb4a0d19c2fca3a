// SPDX-License-Identifier: Apache-2.0
// Text from a node (host names, process names, log lines) becomes inert; numbers with units, globs
// and suggestions never crash; an accepted list of CPUs is ascending and survives writing.
#include <algorithm>
#include <string>

#include "lib/base/quantity.hpp"
#include "tests/fuzz/fuzz.hpp"

void muster::fuzz(std::string_view text) {
  const std::string shown = printable(text, 64);
  require(shown.size() <= 64 && printable(shown, 64) == shown);
  require(std::ranges::none_of(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
  const auto half = text.substr(0, text.size() / 2);
  static_cast<void>(matches_glob(half, text.substr(text.size() / 2)));
  static_cast<void>(nearest(half.substr(0, 64), {"total", "tolerance", "warn_below"}));
  static_cast<void>(parse_quantity<BytesKind>(text));
  static_cast<void>(parse_quantity<SecondsKind>(text));
  const auto cpus = parse_cpu_list(text);
  if (!cpus || cpus->empty()) return;
  require(std::ranges::is_sorted(*cpus) && cpus->size() <= 65536);
  require(parse_cpu_list(to_cpu_list(*cpus)) == *cpus);
}
