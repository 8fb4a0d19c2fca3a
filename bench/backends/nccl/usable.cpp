// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>

#include "bench/backends/nccl/errors.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"

namespace muster::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);  // with 8 GPUs, this takes seconds

Result<int> count_gpus(const cuda::Library& library) {
  TRY(call(library, library.init, 0));
  int count = 0;
  TRY(call(library, library.device_count, &count));
  if (count < 1) return tl::unexpected(trouble(library, library.init.name, cuda::kNoDevice));
  return count;
}

// The child answers with the number, or with one of these marks and the error.
constexpr char kMissing = '-';
constexpr char kFailed = '!';

std::string answer_of(const Result<int>& count) {
  if (count) return fmt::format("{}", *count);
  return fmt::format("{}{}", count.error().missing ? kMissing : kFailed, count.error().message);
}

Result<int> count_in(std::string_view answer) {
  if (answer.starts_with(kMissing)) return make_missing(std::string(answer.substr(1)));
  if (answer.starts_with(kFailed)) return make_error(std::string(answer.substr(1)));
  TRY_ASSIGN(const auto count, parse_unsigned(answer));
  return static_cast<int>(count);
}

}  // namespace

Result<int> usable_gpus(const std::string& cuda_file) {
  TRY_ASSIGN(const auto library, cuda::open_library(cuda_file));
  Children children;
  children.start("cuda", kPatience, [&library] { return answer_of(count_gpus(library)); });
  const auto answer = children.next().second;
  if (answer.end != ChildAnswer::End::answered) {
    return make_error(fmt::format("the CUDA driver gives {}", answer.reason));
  }
  return count_in(answer.bytes);
}

}  // namespace muster::bench
