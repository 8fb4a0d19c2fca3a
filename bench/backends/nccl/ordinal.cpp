// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/ordinal.hpp"

#include <fmt/format.h>

#include <vector>

#include "lib/base/text.hpp"

namespace muster::bench {

Result<Ordinal> choose_gpu(int rank, int local_rank, int gpus, std::string_view visible) {
  const auto names = visible.empty() ? std::vector<std::string_view>{} : split(visible, ',');
  Ordinal chosen{.ordinal = names.size() == 1 && gpus == 1 ? 0 : local_rank};
  if (local_rank < 0 || chosen.ordinal >= gpus) {
    return make_error(fmt::format(
        "rank {} is local rank {}, and only {} {} visible{}",
        rank,
        local_rank,
        gpus,
        gpus == 1 ? "GPU is" : "GPUs are",
        visible.empty() ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES={})", printable(visible, 100))));
  }
  const auto index = static_cast<std::size_t>(chosen.ordinal);
  if (index >= names.size()) {
    chosen.device_id = fmt::format("gpu{}", index);
  } else if (const auto number = parse_unsigned(trim(names[index]))) {
    chosen.device_id = fmt::format("gpu{}", *number);
  }
  return chosen;
}

}  // namespace muster::bench
