// SPDX-License-Identifier: Apache-2.0
// host.container_storage: container images and root file systems have a place with room.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/host/wanted_files.hpp"
#include "checks/shared/support.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_container_storage {
namespace {

std::optional<Finding> judge_room(const FileFact& file, Bytes least) {
  if (!file.space) return not_known(file.path, "the free space", file.space);
  const auto free = static_cast<double>(file.space->available_bytes);
  if (free >= least.value) return std::nullopt;
  return warned(file.path,
                fmt::format("{} free in {}, expected at least {}", in_gib(free), file.path,
                            in_gib(least.value)),
                Remedy::fix_config,
                {count_value(file.space->available_bytes),
                 count_value(static_cast<std::uint64_t>(least.value)), "B"});
}

std::optional<Finding> judge_path(const Environment& environment, const std::string& path,
                                  const ContainerStorageLimits& limits) {
  const FileFact* file = host::file_at(environment, path);
  if (file == nullptr) return host::not_looked_for(path);
  if (!file->exists) return host::nonexistent(path, "directory");
  if (!file->directory) {
    return host::unusable(path, fmt::format("{} is not a directory", path), "not a directory",
                          "directory");
  }
  if (!file->writable)
    return not_known(path, fmt::format("whether {} is writable", path), file->writable);
  if (!*file->writable) {
    return host::unusable(path, fmt::format("{} is not writable", path), "not writable",
                          "writable");
  }
  return limits.free_min ? judge_room(*file, *limits.free_min) : std::nullopt;
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  if (profile.host->container_storage.paths.empty()) return not_expected("container storage");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const ContainerStorageLimits& limits = profile.host->container_storage;

  Findings findings;
  for (const auto& path : limits.paths)
    append(findings, judge_path(*snapshot.environment, path, limits));
  return or_pass(
      std::move(findings),
      fmt::format("{} for containers writable{}",
                  limits.paths.size() == 1 ? std::string("1 directory")
                                           : fmt::format("{} directories", limits.paths.size()),
                  limits.free_min ? ", with room" : ""));
}

}  // namespace

constinit const Check check{
    .id = "host.container_storage",
    .title = "Container storage exists, is writable and has room",
    .why =
        "Looks at the directories where enroot, docker or containerd keep images and running "
        "containers. Layers of 20 GB are common: a disk that was not mounted after a reboot, or "
        "filled up by earlier images, ends container jobs while they unpack.",
    .fix =
        "Mount or rebuild the local disk that should lie there (see host.nvme and host.mounts), "
        "make the directory with the mode that the runtime asks for, or remove old images "
        "(enroot list, docker system prune).",
    .needs = Probe::environment,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_container_storage
