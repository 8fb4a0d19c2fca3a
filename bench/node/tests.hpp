// SPDX-License-Identifier: Apache-2.0
// The one table of a node's active tests: the command, its help, the report and the documents' test
// read it. A test is one source file and one row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/node/test.hpp"

namespace muster::bench::node {

[[nodiscard]] Result<TestResult> run_host_stream(const TestInput& input);
[[nodiscard]] Result<TestResult> run_host_latency(const TestInput& input);
[[nodiscard]] Result<TestResult> run_host_disk(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_copy(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_p2p(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_memory(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_gemm(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_truth(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_soak(const TestInput& input);
[[nodiscard]] Result<TestResult> run_ib_loopback(const TestInput& input);
[[nodiscard]] Result<TestResult> run_nccl_intra(const TestInput& input);
[[nodiscard]] Result<TestResult> run_nccl_nic(const TestInput& input);
[[nodiscard]] Result<TestResult> run_train_step(const TestInput& input);

// The tests in the order in which they run.
[[nodiscard]] std::span<const NodeTest> node_tests();

// "gpu.*,ib.loopback" one by one; an error where one of them is no test's name.
[[nodiscard]] Result<std::vector<std::string>> tests_called(std::string_view globs);

}  // namespace muster::bench::node
