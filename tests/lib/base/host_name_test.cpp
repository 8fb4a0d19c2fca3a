// SPDX-License-Identifier: Apache-2.0
#include "lib/base/host_name.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace muster {
namespace {

class HostNameTest : public ::testing::Test {
 protected:
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  void SetUp() override { ::unsetenv("MUSTER_HOSTNAME"); }
  void TearDown() override { ::unsetenv("MUSTER_HOSTNAME"); }
  static void give(const char* name) { ::setenv("MUSTER_HOSTNAME", name, 1); }

  // NOLINTEND(concurrency-mt-unsafe)

  static std::string of_kernel() {
    std::array<char, 256> name{};
    EXPECT_EQ(::gethostname(name.data(), name.size() - 1), 0);
    return name.data();
  }
};

TEST_F(HostNameTest, DefaultsToTheKernelsName) {
  EXPECT_EQ(host_name(), of_kernel());
  give("");
  EXPECT_EQ(host_name(), of_kernel());
  give("gpu-0007");
  EXPECT_EQ(host_name(), "gpu-0007");
}

TEST_F(HostNameTest, IsAShortPrintableLine) {
  give("a\nb");
  EXPECT_EQ(host_name(), "a\\x0ab");
  give(std::string(500, 'x').c_str());
  EXPECT_LE(host_name().size(), 64U);
}

TEST(IsHostNameTest, AllowsWhatPathsAndArgumentsCanHold) {
  EXPECT_TRUE(is_host_name("gpu-0007"));
  EXPECT_TRUE(is_host_name("node_1." + std::string(240, 'x')));
  for (const std::string_view name :
       {"", ".", "..", ".ssh", "-oProxyCommand=x", "a/b", "a b", "a\n", "\xc3\xa9"}) {
    EXPECT_FALSE(is_host_name(name)) << name;
  }
  EXPECT_FALSE(is_host_name(std::string(254, 'x')));
}

}  // namespace
}  // namespace muster
