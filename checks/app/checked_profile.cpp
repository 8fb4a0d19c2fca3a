// SPDX-License-Identifier: Apache-2.0
#include "checks/app/checked_profile.hpp"

#include <chrono>

#include "checks/names.hpp"
#include "lib/profile/limits/environment.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::app {
namespace {

template <class T>
void append(std::vector<T>& target, const std::vector<T>& more) {
  target.insert(target.end(), more.begin(), more.end());
}

}  // namespace

Result<Profile> read_profile_of(const ProfileSources& sources, std::string_view name) {
  auto profile = load_profile(sources, name);
  if (!profile) return profile;
  if (auto known = check_names(*profile); !known) return tl::unexpected(known.error());
  return profile;
}

Wanted wanted_of(const Profile& profile) {
  Wanted wanted;
  for (const auto& [key, value] : profile.host->sysctl.values) wanted.sysctls.push_back(key);
  append(wanted.files, profile.host->programs.executable);
  append(wanted.files, profile.host->programs.present);
  append(wanted.files, profile.host->container_storage.paths);
  append(wanted.libraries, profile.env->libraries.required);
  append(wanted.libraries, profile.env->libraries.optional);
  wanted.nccl_topology = profile.topo->nccl_file.path.value_or("");
  const auto statfs = std::chrono::duration<double>(profile.host->mounts.answer_within.value);
  if (statfs.count() > 0) {
    wanted.statfs_deadline = std::chrono::duration_cast<std::chrono::milliseconds>(statfs);
  }
  return wanted;
}

}  // namespace muster::app
