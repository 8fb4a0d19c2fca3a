// SPDX-License-Identifier: Apache-2.0
// Profiles for many snapshots: what recognition chooses from is read once, and each profile is
// loaded once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/choice/choice.hpp"
#include "lib/profile/candidates.hpp"

namespace muster::app {

struct SharedChoice {
  std::shared_ptr<const Profile> profile;
  std::vector<std::string> evidence;
};

// May be used by several threads at once.
class ProfileCache {
 public:
  explicit ProfileCache(ProfileSources sources) : sources_(std::move(sources)) {}

  // From now on every snapshot is judged by this one.
  void fix(Choice choice);

  [[nodiscard]] Attempt<SharedChoice> choose(const Snapshot& snapshot);

 private:
  [[nodiscard]] Attempt<std::shared_ptr<const Candidates>> candidates();
  [[nodiscard]] Attempt<std::shared_ptr<const Profile>> load(const std::string& name);

  ProfileSources sources_;
  std::optional<SharedChoice> fixed_;
  std::mutex guard_;
  std::optional<Attempt<std::shared_ptr<const Candidates>>> candidates_;
  std::map<std::string, Attempt<std::shared_ptr<const Profile>>> profiles_;  // by name
};

}  // namespace muster::app
