// SPDX-License-Identifier: Apache-2.0
// The blocks of the site's muster.yaml that do not belong to a profile: each is a described struct
// of the program that uses it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/profile/binder.hpp"
#include "lib/profile/load.hpp"

namespace muster {

// Reads one block of the site's file over the defaults in `out`, which stay if the site does not
// have it. `check` returns the key of a wrong value and the rest of the message, or an empty key.
template <Described T, class Check>
[[nodiscard]] Result<void> read_block(const SiteFile& site, std::string_view name,
                                      const Yaml& block, T& out, const Check& check) {
  if (block.kind == Yaml::Kind::null) return {};
  Profile scratch;  // the binder records the lines here
  Binder binder(scratch);
  binder.begin(site.shown);
  const Place place{.path = std::string(name), .line = block.line};
  TRY(binder.value(block, place, out));
  const auto broken = check(out);
  if (broken.key.empty()) return {};
  const auto path = fmt::format("{}.{}", name, broken.key);
  const auto value = scratch.values.find(path);
  const int line = value == scratch.values.end() ? block.line : value->second.origin.line;
  return make_error("{}: '{}' {}", at(site.shown, line), path, broken.what);
}

// The block `slurm` of the site's file, if there is one.
template <Described T, class Check>
[[nodiscard]] Result<void> read_slurm_block(const ProfileSources& sources, T& out,
                                            const Check& check) {
  TRY_ASSIGN(const auto site, read_site(sources));
  return read_block(site, "slurm", site.slurm, out, check);
}

}  // namespace muster
