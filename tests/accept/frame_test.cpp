// SPDX-License-Identifier: Apache-2.0
#include "accept/frame.hpp"

#include <fmt/format.h>

#include <string>

#include "lib/base/digest.hpp"
#include "tests/support/matchers.hpp"

namespace muster::accept {
namespace {

TEST(FrameTest, HasTheSha256OfItsContent) {
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(frame("gpu-1", "abc"), fmt::format("muster1 gpu-1 3 {} YWJj\n", sha256_of("abc")));
}

TEST(FrameTest, ReturnsContentOfAnyLength) {
  for (std::size_t length = 1; length < 9; ++length) {
    std::string content(length, '\0');
    for (std::size_t i = 0; i < length; ++i) content[i] = static_cast<char>(251 + i);
    EXPECT_EQ(unframe("n", frame("n", content)), content);
  }
}

TEST(FrameTest, IsFoundBehindGreetings) {
  const auto output =
      fmt::format("Welcome to muster1 land\n\x1b[0mprompt$ {}Bye\n", frame("n", "{}"));
  EXPECT_EQ(unframe("n", output), "{}");
}

TEST(FrameTest, OfAnotherNodeIsIgnored) {
  const auto content = unframe("n2", frame("n1", "{}"));
  ASSERT_FALSE(content);
  EXPECT_TRUE(content.error().missing);
}

TEST(FrameTest, IsNeverHalfAnAnswer) {
  const auto whole = frame("n", "{\"host\":\"n\"}");
  for (std::size_t cut = 9; cut + 1 < whole.size(); ++cut) {
    const auto content = unframe("n", whole.substr(0, cut));
    ASSERT_FALSE(content) << cut;
    EXPECT_THAT(content.error().message, HasSubstr("cut off or damaged"));
  }
}

TEST(FrameTest, SeesADamagedByte) {
  auto damaged = frame("n", "0123456789");
  auto& byte = damaged[damaged.size() - 6];
  byte = byte == 'A' ? 'B' : 'A';
  EXPECT_FALSE(unframe("n", damaged));
}

}  // namespace
}  // namespace muster::accept
