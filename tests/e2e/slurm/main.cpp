// SPDX-License-Identifier: Apache-2.0
// Runs the tests in their own namespaces. If there are none, tests with a cluster are skipped.
#include <gtest/gtest.h>

#include "tests/e2e/slurm/private_world.hpp"

int main(int count, char** arguments) {
  muster::e2e::enter_private_world({arguments, arguments + count});
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
