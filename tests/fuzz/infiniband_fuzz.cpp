// SPDX-License-Identifier: Apache-2.0
// InfiniBand texts of sysfs: accepted values are in range and printable.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void require(bool held) {
  if (!held) std::abort();
}

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto rate = muster::parse_link_rate(text)) {
    require(std::isfinite(rate->gbps) && rate->gbps >= 0 && rate->lanes <= 64);
    require(rate->speed.size() <= 8 && is_printable(rate->speed));
  }
  if (const auto state = muster::parse_numbered_state(text)) require(*state <= 255);
  if (const auto key = muster::parse_pkey(text)) require(*key <= 0xffff);
  (void)muster::parse_lid(text);
  if (const auto gid = muster::parse_gid(text)) {
    require(gid->size() == 39 && is_printable(*gid));
    require(muster::parse_gid(*gid) == gid);
  }
  if (const auto guid = muster::parse_guid(text)) {
    require(guid->size() == 19 && is_printable(*guid));
  }
  if (muster::is_pci_address(text)) require(size >= 12 && size <= 16);
  return 0;
}
