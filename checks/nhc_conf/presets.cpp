// SPDX-License-Identifier: Apache-2.0
// What the arguments of Azure's checks mean, as values of a profile.
#include <algorithm>
#include <array>

#include "checks/nhc_conf/size.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::nhc {
namespace {

using Presets = std::vector<Preset>;

constexpr std::uint64_t kMost = 2'000'000'000;

int whole(const std::string& value) {
  return static_cast<int>(parse_whole(value, kMost).value_or(0));
}

template <class T>
void put(Limit<int> T::*limit, T& limits, const std::string& value) {
  limits.*limit = whole(value);
}

Seconds hours(const std::string& value) { return {3600.0 * whole(value)}; }

struct Key {
  std::string_view name;
  void (*put)(Profile&, const std::string&);
};

constexpr std::array kKeys{
    Key{"gpu.present.count",
        [](Profile& p, const std::string& v) { put(&GpuPresentLimits::count, p.gpu->present, v); }},
    Key{"gpu.ecc_corrected.dram_warn_above",
        [](Profile& p, const std::string& v) {
          put(&GpuEccCorrectedLimits::dram_warn_above, p.gpu->ecc_corrected, v);
        }},
    Key{"gpu.ecc_corrected.sram_warn_above",
        [](Profile& p, const std::string& v) {
          put(&GpuEccCorrectedLimits::sram_warn_above, p.gpu->ecc_corrected, v);
        }},
    Key{"gpu.ecc_corrected.warn_as",
        [](Profile& p, const std::string& v) { p.policies["gpu.ecc_corrected"].warn_as = v; }},
    Key{"gpu.xid.window", [](Profile& p, const std::string& v) { p.gpu->xid.window = hours(v); }},
    Key{"ib.flaps.window", [](Profile& p, const std::string& v) { p.ib->flaps.window = hours(v); }},
    // NHC fails at this number, muster above it.
    Key{"ib.flaps.max",
        [](Profile& p, const std::string& v) { p.ib->flaps.max = std::max(0, whole(v) - 1); }},
    Key{"host.nvme.count",
        [](Profile& p, const std::string& v) { put(&NvmeLimits::count, p.host->nvme, v); }},
};

}  // namespace

// An empty or missing argument is left to the profile.
Result<Presets> presets_of(const Row& row, const Arguments& arguments) {
  Presets presets;
  for (std::size_t i = 0; i < row.keys.size(); ++i) {
    const auto word = argument(arguments, i);
    if (word.empty()) continue;
    if (auto value = parse_whole(word, kMost); !value) return tl::unexpected(value.error());
    presets.push_back({.key = std::string(row.keys[i]), .value = std::string(word)});
  }
  // A line's limit is one to fail above.
  if (!presets.empty() && presets.back().key.ends_with("_warn_above")) {
    presets.push_back({.key = "gpu.ecc_corrected.warn_as", .value = "fail"});
  }
  return presets;
}

Result<void> apply(const Presets& presets, Profile& profile) {
  for (const auto& preset : presets) {
    const auto* key = std::ranges::find(kKeys, preset.key, &Key::name);
    if (key == kKeys.end()) return make_error(fmt::format("no value {}", preset.key));
    key->put(profile, preset.value);
  }
  return {};
}

}  // namespace muster::nhc
