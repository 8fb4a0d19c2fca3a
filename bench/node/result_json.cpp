// SPDX-License-Identifier: Apache-2.0
// The result of a node's test as JSON, and back.
#include <fmt/format.h>

#include "bench/node/test.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"

namespace muster::bench::node {
namespace {

struct TestAnswer {
  MUSTER_DESCRIBED(TestAnswer);
  MUSTER_UNLESS_EMPTY(std::string, error, "why there is no result");
  MUSTER_FIELD(bool, missing, "the node has nothing of the kind") = false;
  MUSTER_FIELD(TestResult, result, "");
};

}  // namespace

std::string to_json(const Result<TestResult>& result) {
  if (result) return to_json_line(TestAnswer{.result = *result});
  return to_json_line(
      TestAnswer{.error = result.error().message, .missing = result.error().missing});
}

Result<TestResult> parse_result(std::string_view text) {
  auto answer = from_json<TestAnswer>(text);
  if (!answer) return make_error(fmt::format("the result of a test: {}", answer.error().message));
  if (answer->error.empty()) return std::move(answer->result);
  return tl::unexpected(Error{.message = answer->error, .missing = answer->missing});
}

}  // namespace muster::bench::node
