// SPDX-License-Identifier: Apache-2.0
// host.programs: programs and files that jobs need are there.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/host/wanted_files.hpp"
#include "checks/shared/support.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_programs {
namespace {

std::optional<Finding> judge_path(const Environment& environment, const std::string& path,
                                  bool executable) {
  const FileFact* file = host::file_at(environment, path);
  if (file == nullptr) return host::not_looked_for(path);
  if (!file->exists) return host::nonexistent(path, executable ? "executable" : "present");
  if (!executable || file->executable) return std::nullopt;
  return host::unusable(path, fmt::format("{} is not a program that can be executed", path),
                        "not executable", "executable");
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const ProgramLimits& limits = profile.host->programs;
  if (limits.executable.empty() && limits.present.empty()) return not_expected("programs or files");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const ProgramLimits& limits = profile.host->programs;
  const Environment& environment = *snapshot.environment;
  Findings findings;
  for (const auto& path : limits.executable) append(findings, judge_path(environment, path, true));
  for (const auto& path : limits.present) append(findings, judge_path(environment, path, false));
  return or_pass(std::move(findings),
                 fmt::format("{} and {} in place", counted(limits.executable.size(), "program"),
                             counted(limits.present.size(), "file")));
}

}  // namespace

constinit const Check check{
    .id = "host.programs",
    .title = "Programs and files that jobs need are in place",
    .why =
        "Looks for the programs and files that the profile names: the container runtime (enroot, "
        "the pyxis plugin, nvidia-container-cli), topology files, health-check tools. A node that "
        "was set up only half ends every container job at its start.",
    .fix =
        "Install the missing package, or run the node's set-up (cloud-init, Ansible, the image "
        "build) again and read its log.",
    .needs = Probe::environment,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_programs
