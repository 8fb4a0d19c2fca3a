// SPDX-License-Identifier: Apache-2.0
// Profiles for many snapshots: each is loaded once, and like hardware is recognised once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "checks/app/choice.hpp"

namespace muster::app {

// May be used by several threads at once.
class ProfileCache {
 public:
  // `named`, when there is one, holds for every snapshot.
  ProfileCache(ProfileSources sources, std::optional<Choice> named);

  [[nodiscard]] Attempt<std::shared_ptr<const Choice>> choose(const Snapshot& snapshot);

 private:
  ProfileSources sources_;
  std::shared_ptr<const Choice> named_;
  std::mutex guard_;
  std::map<std::string, Attempt<std::shared_ptr<const Choice>>> known_;  // by hardware
};

}  // namespace muster::app
