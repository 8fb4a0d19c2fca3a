// SPDX-License-Identifier: Apache-2.0
// Profiles for many snapshots: what recognition chooses from is read once, and each profile is
// loaded once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "checks/app/choice.hpp"
#include "lib/profile/candidates.hpp"

namespace muster::app {

struct SharedChoice {
  std::shared_ptr<const Profile> profile;
  std::vector<std::string> evidence;
};

// May be used by several threads at once.
class ProfileCache {
 public:
  // `named`, when there is one, holds for every snapshot.
  ProfileCache(ProfileSources sources, std::optional<Choice> named);

  [[nodiscard]] Attempt<SharedChoice> choose(const Snapshot& snapshot);

 private:
  using Candidates = std::vector<Candidate>;

  [[nodiscard]] Attempt<std::shared_ptr<const Candidates>> candidates();
  [[nodiscard]] Attempt<std::shared_ptr<const Profile>> load(const std::string& name);

  ProfileSources sources_;
  std::optional<SharedChoice> named_;
  std::mutex guard_;
  std::optional<Attempt<std::shared_ptr<const Candidates>>> candidates_;
  std::map<std::string, Attempt<std::shared_ptr<const Profile>>> profiles_;  // by name
};

}  // namespace muster::app
