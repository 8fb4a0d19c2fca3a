// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>

#include "bench/backends/nccl/errors.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"

namespace muster::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);  // a node with 8 GPUs may take some

Result<int> count_gpus(const cuda::Library& library) {
  MUSTER_CUDA_TRY(library, init, 0);
  int count = 0;
  MUSTER_CUDA_TRY(library, device_count, &count);
  if (count < 1) return tl::unexpected(trouble(library, library.init.name, cuda::kNoDevice));
  return count;
}

}  // namespace

Result<int> usable_gpus(const std::string& cuda_file) {
  const auto library = cuda::open_library(cuda_file);
  if (!library) return tl::unexpected(library.error());
  Children children;
  children.start("cuda", muster::Clock::now() + kPatience, [&library] {
    const auto count = count_gpus(*library);
    return count ? fmt::format("{}", *count) : count.error().message;
  });
  const auto answer = children.next().second;
  if (answer.end != ChildAnswer::End::answered) {
    return make_error(fmt::format("the CUDA driver gives {}", answer.reason));
  }
  const auto count = parse_unsigned(answer.bytes);
  if (!count) return make_error(answer.bytes);
  return static_cast<int>(*count);
}

}  // namespace muster::bench
