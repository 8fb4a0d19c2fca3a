// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as a profile, as a site's overrides and as a setting: it loads or fails with one
// printable line, and every value that it sets is accounted for.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/profile/layers.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

constexpr std::size_t kAnyLength = 1UL << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

// Whether the layer is valid and complete.
void judge(const Profile& profile, const Layers& layers, const Result<void>& layer) {
  if (!layer) {
    require(!layer.error().message.empty());
    require(printable(layer.error().message, kAnyLength) == layer.error().message);
    return;
  }
  require(profile.origins.size() == profile.values.size());
  for (const auto& [path, origin] : profile.origins) require(profile.values.contains(path));
  if (const auto rules = layers.check_rules(); !rules) {
    require(printable(rules.error().message, kAnyLength) == rules.error().message);
    return;
  }
  (void)review(profile);
}

void run(std::string_view text) {
  Profile set;
  const bool formed = well_formed_setting(text);
  Layers settings(set);
  const auto done = settings.add_setting(text);
  require(formed || !done);
  judge(set, settings, done);

  const auto document = parse_yaml(text, "x");
  if (!document) {
    require(printable(document.error().message, kAnyLength) == document.error().message);
    return;
  }
  Profile whole;
  Layers files(whole);
  judge(whole, files, files.add_file(*document, "x", true));
  Profile overridden;
  Layers overrides(overridden);
  judge(overridden, overrides, overrides.add_overrides(*document, "x"));
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer's bytes are our text.
  muster::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
