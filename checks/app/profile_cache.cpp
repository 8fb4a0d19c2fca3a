// SPDX-License-Identifier: Apache-2.0
#include "checks/app/profile_cache.hpp"

#include <utility>

#include "checks/app/checked_profile.hpp"
#include "lib/choice/hardware.hpp"

namespace muster::app {
namespace {

template <class T>
Attempt<std::shared_ptr<const T>> shared(Result<T> result) {
  if (!result) return bad_configuration(result.error());
  return std::make_shared<const T>(std::move(*result));
}

}  // namespace

void ProfileCache::fix(Choice choice) {
  fixed_ = SharedChoice{.profile = std::make_shared<const Profile>(std::move(choice.profile)),
                        .evidence = std::move(choice.evidence)};
}

Attempt<SharedChoice> ProfileCache::choose(const Snapshot& snapshot) {
  if (fixed_) return *fixed_;
  const auto known = candidates();
  if (!known) return tl::unexpected(known.error());
  auto recognised = muster::choose(**known, hardware_of(snapshot));
  const auto profile = load(recognised.profile);
  if (!profile) return tl::unexpected(profile.error());
  return SharedChoice{.profile = *profile,
                      .evidence = with_gaps(std::move(recognised.evidence), snapshot)};
}

Attempt<std::shared_ptr<const Candidates>> ProfileCache::candidates() {
  const std::lock_guard lock(guard_);
  if (!candidates_) candidates_ = shared(read_candidates(sources_));
  return *candidates_;
}

Attempt<std::shared_ptr<const Profile>> ProfileCache::load(const std::string& name) {
  const std::lock_guard lock(guard_);
  const auto found = profiles_.find(name);
  if (found != profiles_.end()) return found->second;
  return profiles_.emplace(name, shared(read_profile_of(sources_, name))).first->second;
}

}  // namespace muster::app
