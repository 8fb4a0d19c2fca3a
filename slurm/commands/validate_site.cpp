// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/validate_site.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/site.hpp"

namespace muster::app {
namespace {

std::string place_of(const Profile& noted, const SiteFile& site, const std::string& path) {
  const auto origin = noted.origins.find(path);
  return at(site.shown, origin == noted.origins.end() ? site.slurm.line : origin->second.line);
}

// The mistake in these keys, empty for none. `of` is the key whose values are checked, empty for
// all.
std::string trouble_with(const SiteFile& site, const Yaml& block, std::string_view of,
                         slurm::Rules& rules) {
  Profile noted;
  Binder binder(noted);
  binder.begin(site.shown);
  const Place place{.path = "slurm", .line = site.slurm.line};
  if (const auto read = binder.value(block, place, rules); !read) {
    return read.error().message;
  }
  const auto broken = slurm::check_values(rules);
  if (broken.key.empty() || !broken.key.starts_with(of)) return "";
  const auto path = fmt::format("slurm.{}", broken.key);
  return fmt::format("{}: '{}' {}", place_of(noted, site, path), path, broken.what);
}

struct Named {
  std::string_view key, path;
  int access = R_OK;
};

void look_for(const Named& named, const SiteFile& site, std::string_view root,
              std::vector<std::string>& troubles) {
  if (named.path.empty()) return;
  const auto below = root == "/" ? "" : root;
  const auto path = fmt::format("{}{}", below, named.path);
  if (::access(path.c_str(), named.access) == 0) return;
  const auto* key = site.slurm.find(named.key.substr(0, named.key.find('.')));
  troubles.push_back(fmt::format("{}: 'slurm.{}' names {}: {}",
                                 at(site.shown, key == nullptr ? site.slurm.line : key->line),
                                 named.key, printable(path), errno_text(errno)));
}

}  // namespace

SlurmBlock validate_slurm_block(const SiteFile& site, std::string_view root) {
  SlurmBlock block;
  if (site.slurm.kind == Yaml::Kind::null) return block;
  Yaml right = site.slurm;
  right.entries.clear();
  for (const auto& entry : site.slurm.entries) {
    Yaml alone = site.slurm;
    alone.entries = {entry};
    slurm::Rules rules;
    auto trouble = trouble_with(site, alone, entry.key, rules);
    if (trouble.empty()) {
      right.entries.push_back(entry);
    } else {
      block.troubles.push_back(std::move(trouble));
    }
  }
  // Mistakes of several keys together, such as a spread that is too long for its budget.
  auto together = trouble_with(site, right, "", block.rules);
  if (!together.empty()) block.troubles.push_back(std::move(together));
  look_for({"nhc_conf", block.rules.nhc_conf}, site, root, block.troubles);
  look_for({"conf", block.rules.conf}, site, root, block.troubles);
  look_for({"tell.program", block.rules.tell.program, X_OK}, site, root, block.troubles);
  look_for({"sweep.results", block.rules.sweep.results}, site, root, block.troubles);
  look_for({"sweep.script", block.rules.sweep.script}, site, root, block.troubles);
  return block;
}

}  // namespace muster::app
