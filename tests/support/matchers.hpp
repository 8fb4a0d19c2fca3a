// SPDX-License-Identifier: Apache-2.0
// GoogleTest, and the names of its matchers that most tests use.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

}  // namespace muster
