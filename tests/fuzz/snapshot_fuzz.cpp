// SPDX-License-Identifier: Apache-2.0
// Arbitrary snapshots are refused, or judged and reported in every format, and survive writing and
// reading.

#include "checks/run.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/report/format.hpp"
#include "tests/fuzz/fuzz.hpp"

void muster::fuzz(std::string_view text) {
  const auto snapshot = parse_snapshot(text);
  if (!snapshot) return;
  const auto again = parse_snapshot(to_json(*snapshot));
  require(again == *snapshot);

  const auto report = judge(*snapshot, Profile{}, {});
  for (const auto& finding : report.findings) {
    require(finding.message.find('\n') == std::string::npos);
  }
  require(to_npd(report).size() <= 81 && to_nhc(report).find('\'') == std::string::npos);
  static_cast<void>(to_text(report));
  static_cast<void>(to_json(report));
  static_cast<void>(to_prometheus(report));
  static_cast<void>(to_junit(report));
}
