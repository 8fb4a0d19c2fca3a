// SPDX-License-Identifier: Apache-2.0
// For each HCA the GPU next to it, whose memory it reads and writes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/node/test.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

class NearGpus {
 public:
  // Where no GPU can be used, trouble() says why.
  explicit NearGpus(const TestInput& input);

  // The one with which it has most of its way through the PCI bus in common; of several such, the
  // one with the same place in the order. Null where there is none, or it cannot be opened.
  [[nodiscard]] Gpu* near(const std::string& hca, std::size_t place);

  [[nodiscard]] const cuda::Library& cuda() const { return cuda_; }

  [[nodiscard]] const Error& trouble() const { return trouble_; }

 private:
  struct Known {
    std::string path;  // of the device in sysfs; empty where the kernel does not tell
    std::unique_ptr<Gpu> gpu;
  };

  [[nodiscard]] Result<void> find(const TestInput& input);

  cuda::Library cuda_;
  std::vector<Known> gpus_;
  Error trouble_;
};

// How many of their folders, from the root on, two paths have in common.
[[nodiscard]] std::size_t common_folders(std::string_view one, std::string_view other);

}  // namespace muster::bench::node
