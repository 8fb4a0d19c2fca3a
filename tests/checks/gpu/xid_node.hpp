// SPDX-License-Identifier: Apache-2.0
// A node with two H100s, ten hours after boot, whose kernel log a test writes.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/profile/load.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::xid_node {

inline constexpr double kNow = 1e9;  // seconds since 1970

// A shipped profile.
inline const Profile& profile() {
  static const Profile loaded = load_profile({}, "nd96isr_h100_v5").value();
  return loaded;
}

inline KernelRecord line(double uptime_s, std::string text) {
  return {.time_us = static_cast<std::uint64_t>(uptime_s * 1e6), .text = std::move(text)};
}

// An XID of gpu0 (0001:00:00.0) or gpu1 (0002:00:00.0).
inline KernelRecord xid(double uptime_s, std::string_view what, unsigned gpu = 0) {
  return line(uptime_s, fmt::format("NVRM: Xid (PCI:000{}:00:00): {}", gpu + 1, what));
}

inline Snapshot node(std::vector<KernelRecord> records) {
  Snapshot snapshot = gpu_node::node();
  snapshot.identity->uptime_s = 10 * kHour;
  snapshot.identity->boot_id = std::string("boot-1");
  snapshot.kernel_log = observed(KernelLog{.records = std::move(records), .seen = 50});
  snapshot.xids = find_xids(*snapshot.kernel_log);
  snapshot.environment = observed(Environment{});
  snapshot.earlier.wall_s = kNow;
  return snapshot;
}

inline Snapshot bare_metal(std::vector<KernelRecord> records) {
  Snapshot snapshot = node(std::move(records));
  snapshot.identity->hypervisor = false;
  return snapshot;
}

inline Findings judge(const Snapshot& snapshot) {
  return ask(checks::gpu_xid::check, snapshot, profile());
}

// The one finding about a log.
inline Finding only(const Snapshot& snapshot) {
  const auto findings = judge(snapshot);
  EXPECT_THAT(findings, ::testing::SizeIs(1));
  return findings.front();
}

}  // namespace muster::xid_node
