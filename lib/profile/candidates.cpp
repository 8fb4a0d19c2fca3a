// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/profile/layers.hpp"
#include "lib/profile/sources.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

constexpr int kMaxExtends = 16;

// Reads `recognise` of each profile, and of its parents, once.
class CandidateReader {
 public:
  explicit CandidateReader(const ProfileSources& sources) : sources_(sources) {}

  [[nodiscard]] Result<Candidates> read() {
    TRY_ASSIGN(index_, list_profiles(sources_));
    Candidates candidates;
    std::vector<std::string> unknown;  // of the site's
    for (const auto& [name, file] : index_) {
      TRY_ASSIGN(const auto document, sections_of(file));
      add_aliases(*document, file, candidates.by_name);
      if (document->find("recognise") == nullptr) {
        if (file.of_site) unknown.push_back(name);
        continue;
      }
      TRY_ASSIGN(auto wants, merged(file));
      candidates.profiles.push_back({name, std::move(wants), file.of_site});
    }
    for (const auto& [name, file] : index_) {
      auto& known = candidates.by_name[plain_profile_name(name)];
      const auto other = index_.find(known);
      const bool is_name =
          other != index_.end() && plain_profile_name(known) == plain_profile_name(name);
      if (!is_name || file.of_site) known = name;
    }
    candidates.remarks = remarks_on(unknown);
    return candidates;
  }

 private:
  [[nodiscard]] Result<const Yaml*> sections_of(const ProfileFile& file) {
    const auto known = documents_.find(file.path);
    if (known != documents_.end()) return &known->second;
    auto document =
        file.of_site ? read_own(file) : read_sections(file, {"extends", "aliases", "recognise"});
    if (!document && file.of_site) return tl::unexpected(document.error());
    // An invalid shipped file is an error only for its own profile.
    if (!document) document = Yaml{};
    return &documents_.emplace(file.path, std::move(*document)).first->second;
  }

  // The site's aliases override shipped ones.
  static void add_aliases(const Yaml& document, const ProfileFile& file,
                          std::map<std::string, std::string>& by_name) {
    const Yaml* aliases = document.find("aliases");
    if (aliases == nullptr) return;
    for (const auto& alias : aliases->items) {
      auto& name = by_name[plain_profile_name(alias.text)];
      if (name.empty() || file.of_site) name = file.stem;
    }
  }

  // A mistake in a site's file must not silently remove its profile from the candidates.
  [[nodiscard]] static Result<Yaml> read_own(const ProfileFile& file) {
    auto document = read_profile(file);
    if (!document) return document;
    Profile scratch;
    TRY(Layers(scratch).check_keys(*document, file.shown));
    return document;
  }

  // A profile that others of the site extend needs no block of its own.
  [[nodiscard]] std::vector<std::string> remarks_on(const std::vector<std::string>& unknown) const {
    std::vector<std::string> remarks;
    for (const auto& name : unknown) {
      const auto extends_it = [&](const auto& each) {
        const Yaml* base = each.second.find("extends");
        const bool own = each.first.parent_path() == sources_.site / "profiles";
        return own && base != nullptr && base->text == name && each.first.stem() != name;
      };
      if (std::ranges::any_of(documents_, extends_it)) continue;
      remarks.push_back(fmt::format(
          "the site's {} has no recognise block, so no node is recognised as it", printable(name)));
    }
    return remarks;
  }

  [[nodiscard]] Result<Recognise> merged(const ProfileFile& file) {
    std::vector<std::pair<ProfileFile, const Yaml*>> chain;
    std::optional<ProfileFile> next = file;
    while (next && chain.size() < kMaxExtends) {
      TRY_ASSIGN(const auto document, sections_of(*next));
      chain.emplace_back(*next, document);
      TRY_ASSIGN(next, parent_of(chain.back()));
    }
    Profile scratch;
    Layers layers(scratch);
    std::ranges::reverse(chain);
    for (const auto& [each, document] : chain) {
      const Yaml* block = document->find("recognise");
      if (block == nullptr) continue;
      TRY(layers.add_recognise(*block, each.shown));
    }
    return scratch.recognise;
  }

  [[nodiscard]] Result<std::optional<ProfileFile>> parent_of(
      const std::pair<ProfileFile, const Yaml*>& child) {
    const auto& [file, document] = child;
    TRY_ASSIGN(const auto name, extends_of(*document, file));
    if (name.empty()) return std::optional<ProfileFile>();
    TRY_ASSIGN(auto found, find_profile(sources_, index_, name, &file));
    return std::optional(std::move(found));
  }

  const ProfileSources& sources_;
  ProfileIndex index_;
  std::map<std::filesystem::path, Yaml> documents_;
};

}  // namespace

Result<Candidates> read_candidates(const ProfileSources& sources) {
  return CandidateReader(sources).read();
}

}  // namespace muster
