// SPDX-License-Identifier: Apache-2.0
// An active test of a node by its name.
#pragma once

#include <algorithm>
#include <string_view>

#include "bench/node/test.hpp"

namespace muster::bench::node {

// Null where no test has the name.
[[nodiscard]] inline const NodeTest* find_test(std::string_view name) {
  const auto tests = node_tests();
  const auto found = std::ranges::find(tests, name, &NodeTest::name);
  return found == tests.end() ? nullptr : &*found;
}

}  // namespace muster::bench::node
