// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/candidates.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "lib/profile/layers.hpp"
#include "lib/profile/sources.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

constexpr int kMaxExtends = 16;

// Reads `recognise` of each profile, and of what it extends, once.
class Reader {
 public:
  explicit Reader(const ProfileSources& sources) : sources_(sources) {}

  [[nodiscard]] Result<std::vector<Candidate>> read() {
    auto index = list_profiles(sources_);
    if (!index) return tl::unexpected(index.error());
    index_ = std::move(*index);
    std::vector<Candidate> candidates;
    for (const auto& [name, file] : index_) {
      const auto document = sections_of(file);
      if (!document) return tl::unexpected(document.error());
      if ((*document)->find("recognise") == nullptr) continue;
      auto wants = merged(file);
      if (!wants) return tl::unexpected(wants.error());
      candidates.push_back({name, std::move(*wants), file.of_site});
    }
    return candidates;
  }

 private:
  [[nodiscard]] Result<const Yaml*> sections_of(const ProfileFile& file) {
    const auto known = documents_.find(file.path);
    if (known != documents_.end()) return &known->second;
    auto document = read_sections(file, {"extends", "recognise"});
    if (!document) return tl::unexpected(document.error());
    return &documents_.emplace(file.path, std::move(*document)).first->second;
  }

  [[nodiscard]] Result<Recognise> merged(const ProfileFile& file) {
    std::vector<std::pair<ProfileFile, const Yaml*>> chain;
    std::optional<ProfileFile> next = file;
    while (next && chain.size() < kMaxExtends) {
      const auto document = sections_of(*next);
      if (!document) return tl::unexpected(document.error());
      chain.emplace_back(*next, *document);
      auto parent = parent_of(chain.back());
      if (!parent) return tl::unexpected(parent.error());
      next = std::move(*parent);
    }
    Profile scratch;
    Layers layers(scratch);
    for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
      const Yaml* block = each->second->find("recognise");
      if (block == nullptr) continue;
      auto done = layers.add_recognise(*block, each->first.shown);
      if (!done) return tl::unexpected(done.error());
    }
    return scratch.recognise;
  }

  [[nodiscard]] Result<std::optional<ProfileFile>> parent_of(
      const std::pair<ProfileFile, const Yaml*>& child) {
    const auto& [file, document] = child;
    const auto name = extends_of(*document, file);
    if (!name) return tl::unexpected(name.error());
    if (name->empty()) return std::optional<ProfileFile>();
    auto found = find_profile(sources_, index_, *name, &file);
    if (!found) return tl::unexpected(found.error());
    return std::optional(std::move(*found));
  }

  const ProfileSources& sources_;
  ProfileIndex index_;
  std::map<std::filesystem::path, Yaml> documents_;
};

}  // namespace

Result<std::vector<Candidate>> read_candidates(const ProfileSources& sources) {
  return Reader(sources).read();
}

}  // namespace muster
