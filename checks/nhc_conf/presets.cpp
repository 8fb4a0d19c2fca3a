// SPDX-License-Identifier: Apache-2.0
// What the arguments of Azure's checks mean, as values of a profile.
#include <algorithm>
#include <array>

#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::nhc {
namespace {

using Presets = std::vector<Preset>;

constexpr std::uint64_t kMost = 2'000'000'000;

Result<int> parse_whole(std::string_view text) {
  const auto value = parse_unsigned(text);
  if (!value || *value > kMost) {
    return make_error(fmt::format("expects a whole number, got \"{}\"", printable(text, 40)));
  }
  return static_cast<int>(*value);
}

// The arguments in order, an empty or missing one left to the profile.
Result<Presets> in_order(const Arguments& arguments, std::initializer_list<std::string_view> keys) {
  Presets presets;
  std::size_t index = 0;
  for (const auto key : keys) {
    const auto word = argument(arguments, index++);
    if (word.empty()) continue;
    const auto value = parse_whole(word);
    if (!value) return tl::unexpected(value.error());
    presets.push_back({.key = std::string(key), .value = std::string(word)});
  }
  return presets;
}

template <class T>
void put(Limit<int> T::*limit, T& limits, const std::string& value) {
  limits.*limit = parse_whole(value).value_or(0);
}

Seconds hours(const std::string& value) { return {3600.0 * parse_whole(value).value_or(0)}; }

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
        [](Profile& p, const std::string& v) {
          p.ib->flaps.max = std::max(0, parse_whole(v).value_or(0) - 1);
        }},
    Key{"host.nvme.count",
        [](Profile& p, const std::string& v) { put(&NvmeLimits::count, p.host->nvme, v); }},
};

}  // namespace

Result<Presets> gpu_count_presets(const Arguments& arguments) {
  return in_order(arguments, {"gpu.present.count"});
}

Result<Presets> gpu_ecc_presets(const Arguments& arguments) {
  auto presets = in_order(
      arguments, {"gpu.ecc_corrected.dram_warn_above", "gpu.ecc_corrected.sram_warn_above"});
  // A line's limit is one to fail above.
  if (presets && !presets->empty()) {
    presets->push_back({.key = "gpu.ecc_corrected.warn_as", .value = "fail"});
  }
  return presets;
}

Result<Presets> gpu_xid_presets(const Arguments& arguments) {
  return in_order(arguments, {"gpu.xid.window"});
}

// Files of logs that may follow are not read: the kernel is asked.
Result<Presets> link_flap_presets(const Arguments& arguments) {
  return in_order(arguments, {"ib.flaps.window", "ib.flaps.max"});
}

Result<Presets> nvme_presets(const Arguments& arguments) {
  return in_order(arguments, {"host.nvme.count"});
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
