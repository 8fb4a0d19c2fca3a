// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as kernel log records: kept records are printable, bounded and accounted for.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/probes/parse/kernel_log.hpp"

namespace muster {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void collect(std::string_view text) {
  KmsgCollector collector;
  for (const auto line : split_lines(text)) {
    if (line.starts_with('!')) collector.overwritten();
    collector.add(line);
  }
  const KernelLog log = collector.finish();
  require(log.unparsable <= log.seen && log.records.size() <= log.seen);
  std::uint64_t kept = 0;
  for (const auto& record : log.records) {
    kept += record.repeats;
    require(record.level <= 7 && record.last_us >= record.time_us);
    require(record.text.size() <= KmsgCollector::kMaxText);
    require(printable(record.text, KmsgCollector::kMaxText) == record.text);
  }
  require(kept <= log.seen);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::collect({reinterpret_cast<const char*>(data), size});
  return 0;
}
