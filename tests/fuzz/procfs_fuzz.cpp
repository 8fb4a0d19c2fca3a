// SPDX-License-Identifier: Apache-2.0
// Lines of procfs that the host probes read: processes, load, memory and mounts.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/probes/parse/parse.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  const auto stat = muster::parse_process_stat(text);
  if (stat) {
    require(stat->name.data() >= text.data());
    require(stat->name.data() + stat->name.size() <= text.data() + text.size());
  }
  const auto load = muster::parse_load_average(text);
  if (load) require(std::isfinite(load->load1) && load->load1 >= 0);

  const auto memory = muster::parse_meminfo(text, "MemTotal");
  if (memory) require(*memory % 1024 == 0);

  const auto mount = muster::parse_mount(text);
  if (mount) {
    require(mount->point.starts_with('/') && mount->point.size() <= text.size());
    static_cast<void>(muster::holds_data(mount->type));
  }
  const auto model = muster::cpuinfo_field(text, "model name");
  if (model) require(model->size() <= text.size());
  return 0;
}
