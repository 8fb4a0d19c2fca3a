// SPDX-License-Identifier: Apache-2.0
#include "lib/kubernetes/api.hpp"

#include <gmock/gmock.h>

#include <chrono>

namespace muster::kubernetes {
namespace {

TEST(ApiTest, ReturnsTheBodyOfASuccess) {
  EXPECT_EQ(body_of("HTTP/1.0 201 Created\r\nA: b\r\n\r\n{\"a\": 1}"), "{\"a\": 1}");
}

TEST(ApiTest, QuotesTheServersMessage) {
  const auto refused = body_of(
      "HTTP/1.0 403 Forbidden\r\n\r\n{\"kind\": \"Status\", \"message\": \"nodes is forbidden\"}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "status 403: nodes is forbidden");
}

TEST(ApiTest, QuotesABodyThatIsNotJson) {
  const auto broken = body_of("HTTP/1.1 502 Bad Gateway\r\n\r\n<html>");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message, "status 502: <html>");
}

TEST(ApiTest, AnAnswerThatWasCutShortIsAnError) {
  EXPECT_FALSE(body_of("HTTP/1.0"));
  const auto cut = body_of("HTTP/1.0 200 OK\r\ncontent-length: 10\r\n\r\n{\"a\"");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message, "the answer ends after 4 of 10 bytes");
  EXPECT_FALSE(body_of("connect to 10.0.0.1:443: connection refused"));
}

TEST(ApiTest, NamesTheTokenThatCannotBeRead) {
  const auto answer = send({.host = "127.0.0.1", .port = "1", .account = "/no/such"},
                           {.method = "PATCH", .path = "/api"}, std::chrono::seconds(5));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, ::testing::StartsWith("PATCH /api: open /no/such/token: "));
}

}  // namespace
}  // namespace muster::kubernetes
