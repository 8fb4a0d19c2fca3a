// SPDX-License-Identifier: Apache-2.0
// The snapshots in tests/nodes, by name: "recorded/h100_sxm_vm".
#pragma once

#include "lib/node/snapshot.hpp"
#include "tests/support/files.hpp"

namespace muster {

inline Snapshot saved_node(std::string_view name) {
  auto snapshot = parse_snapshot(source_file(fmt::format("tests/nodes/{}.json", name)));
  EXPECT_TRUE(snapshot) << snapshot.error().message;
  return std::move(snapshot).value_or(Snapshot{});
}

}  // namespace muster
