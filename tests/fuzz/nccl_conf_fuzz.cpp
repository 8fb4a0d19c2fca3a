// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as /etc/nccl.conf: only NCCL's variables are kept, and they are printable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/probes/parse/parse.hpp"

namespace muster {
namespace {

constexpr std::size_t kAnyLength = 1UL << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

void parse(std::string_view text) {
  for (const auto& setting : parse_nccl_conf(text, "/etc/nccl.conf")) {
    require(steers_nccl(setting.name));
    for (const auto* part : {&setting.name, &setting.value, &setting.origin}) {
      require(printable(*part, kAnyLength) == *part);
    }
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::parse({reinterpret_cast<const char*>(data), size});
  return 0;
}
