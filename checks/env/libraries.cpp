// SPDX-License-Identifier: Apache-2.0
// The libraries that jobs need can be opened, and NCCL is not older than the profile allows.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/environment.hpp"

namespace muster::checks::env_libraries {
namespace {

constexpr std::string_view kNccl = "libnccl.so";

std::optional<Finding> judge_required(const std::vector<Library>& libraries,
                                      const std::string& name) {
  const auto library = std::ranges::find(libraries, name, &Library::name);
  if (library == libraries.end()) {
    return unknown(name, fmt::format("{} was not looked for when this node was observed", name));
  }
  if (library->opened) return std::nullopt;
  return warned(name, fmt::format("{} cannot be opened: {}", name, library->error),
                Remedy::fix_config, {false, true});
}

// "2.28.3" to its numbers; empty for anything else.
std::optional<std::vector<std::uint64_t>> numbers(std::string_view version) {
  std::vector<std::uint64_t> result;
  for (const auto part : split(version, '.')) {
    const auto number = parse_unsigned(part);
    if (!number) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

std::optional<Finding> judge_version(const Library& nccl, const std::string& least) {
  const auto have = numbers(nccl.version);
  const auto want = numbers(least);
  if (!have || !want) {
    return unknown(
        nccl.name,
        fmt::format(R"(NCCL's version cannot be compared: it says "{}", the profile "{}")",
                    nccl.version, least));
  }
  if (*have >= *want) return std::nullopt;
  return warned(nccl.name, fmt::format("NCCL is {}, expected at least {}", nccl.version, least),
                Remedy::fix_config, {nccl.version, least});
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.env->libraries;
  const auto& libraries = snapshot.environment->libraries;
  if (!libraries) {
    Finding finding = not_known(kNode, "which libraries open", libraries);
    if (libraries.is_absent()) finding.outcome = Outcome::skip;
    return {finding};
  }

  Findings findings;
  for (const auto& name : limits.required) append(findings, judge_required(*libraries, name));
  std::size_t opened = 0;
  bool versions = false;
  for (const auto& library : *libraries) {
    if (!library.opened) continue;
    ++opened;
    if (limits.nccl_min && library.name.starts_with(kNccl)) {
      versions = true;
      append(findings, judge_version(library, *limits.nccl_min));
    }
  }
  if (findings.empty() && limits.required.empty() && !versions) return {not_expected("library")};
  return or_pass(std::move(findings),
                 fmt::format("{} of {} libraries asked for opened", opened, libraries->size()));
}

}  // namespace

constinit const Check check{
    .id = "env.libraries",
    .title = "Libraries that jobs need can be opened, and NCCL is recent enough",
    .why =
        "Opens each library that the profile requires, as a job would, and asks NCCL for its "
        "version. A driver update that left libcuda behind, or a missing libmlx5, shows only when "
        "a job starts. Libraries of a foreign root are not opened.",
    .fix =
        "Install the missing package, run ldconfig, and look at what the error names: often a "
        "library that the library itself needs.",
    .needs = Probe::environment,
    .judge = judge,
};

}  // namespace muster::checks::env_libraries
