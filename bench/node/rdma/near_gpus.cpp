// SPDX-License-Identifier: Apache-2.0
#include "bench/node/rdma/near_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/backends/nccl/errors.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::node {
namespace {

std::string path_of(const std::string& link) {
  const auto path = Root().resolve(link);
  return path ? *path : std::string();
}

}  // namespace

std::size_t common_folders(std::string_view one, std::string_view other) {
  const auto first = split(one, '/');
  const auto second = split(other, '/');
  return static_cast<std::size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
}

NearGpus::NearGpus(const TestInput& input) {
  if (auto found = find(input); !found) trouble_ = found.error();
}

Result<void> NearGpus::find(const TestInput& input) {
  if (auto opened = put(cuda_, cuda::open_library(input.cuda)); !opened) return opened;
  MUSTER_CUDA_TRY(cuda_, init, 0);
  int count = 0;
  MUSTER_CUDA_TRY(cuda_, device_count, &count);
  if (count == 0) return make_error("no GPU is visible");
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    TRY_ASSIGN(const auto address, pci_address_of(cuda_, ordinal));
    gpus_.push_back({path_of(fmt::format("/sys/bus/pci/devices/{}", address)), nullptr});
  }
  return {};
}

Gpu* NearGpus::near(const std::string& hca, std::size_t place) {
  const auto path = path_of(fmt::format("/sys/class/infiniband/{}/device", hca));
  std::vector<std::size_t> nearest;
  std::size_t most = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto common = path.empty() ? 0 : common_folders(path, gpus_[i].path);
    if (common > most) nearest.clear();
    if (common >= most) nearest.push_back(i);
    most = std::max(most, common);
  }
  if (nearest.empty()) return nullptr;
  const auto ordinal = nearest[place % nearest.size()];
  auto& known = gpus_[ordinal];
  if (!known.gpu) {
    const auto opened = put(known.gpu, Gpu::open(cuda_, static_cast<int>(ordinal)));
    if (!opened) {
      trouble_ = opened.error();
      return nullptr;
    }
  }
  return known.gpu.get();
}

}  // namespace muster::bench::node
