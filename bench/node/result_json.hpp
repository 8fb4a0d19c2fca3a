// SPDX-License-Identifier: Apache-2.0
// The result of a test as text, for the pipe between the process that ran it and the one that
// judges it.
#pragma once

#include <string>
#include <string_view>

#include "bench/node/test.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

[[nodiscard]] std::string to_json(const Result<TestResult>& result);
// The result, or the error of the test; an error too where the text is none.
[[nodiscard]] Result<TestResult> parse_result(std::string_view text);

}  // namespace muster::bench::node
