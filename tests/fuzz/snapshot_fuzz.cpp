// SPDX-License-Identifier: Apache-2.0
// Arbitrary snapshots are refused, or judged and reported in every format, and survive writing and
// reading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "checks/run.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/report/format.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto snapshot = muster::parse_snapshot(text);
  if (!snapshot) return 0;
  const auto again = muster::parse_snapshot(muster::to_json(*snapshot));
  if (!again || *again != *snapshot) std::abort();

  const auto report = muster::judge(*snapshot, muster::Profile{}, {});
  for (const auto& finding : report.findings) {
    if (finding.message.find('\n') != std::string::npos) std::abort();
  }
  if (muster::to_npd(report).size() > 81 ||
      muster::to_nhc(report).find('\'') != std::string::npos) {
    std::abort();
  }
  static_cast<void>(muster::to_text(report));
  static_cast<void>(muster::to_json(report));
  static_cast<void>(muster::to_prometheus(report));
  static_cast<void>(muster::to_junit(report));
  return 0;
}
