// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as kernel log records: kept records are printable, bounded and accounted for.

#include "lib/probes/parse/kernel_log.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster {

void fuzz(std::string_view text) {
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

}  // namespace muster
