// SPDX-License-Identifier: Apache-2.0
// Arbitrary text as a profile, as a site's overrides and as a setting: it loads or fails with one
// printable line, and every value that it sets is accounted for.

#include "lib/profile/layers.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"
#include "lib/profile/yaml.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster {
namespace {

// Whether the layer is valid and complete.
void judge(const Profile& profile, const Layers& layers, const Result<void>& layer) {
  if (!layer) {
    require(!layer.error().message.empty());
    require_printable(layer.error().message);
    return;
  }
  if (const auto rules = layers.check_rules(); !rules) {
    require_printable(rules.error().message);
    return;
  }
  (void)review(profile);
}

}  // namespace

void fuzz(std::string_view text) {
  Profile set;
  const bool formed = well_formed_setting(text);
  Layers settings(set);
  const auto done = settings.add_setting(text);
  require(formed || !done);
  judge(set, settings, done);

  const auto document = parse_yaml(text, "x");
  if (!document) {
    require_printable(document.error().message);
    return;
  }
  Profile whole;
  Layers files(whole);
  judge(whole, files, files.add_file(*document, "x", true));
  Profile overridden;
  Layers overrides(overridden);
  judge(overridden, overrides, overrides.add_overrides(*document, "x"));
}

}  // namespace muster
