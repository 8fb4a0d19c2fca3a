// SPDX-License-Identifier: Apache-2.0
// host.kernel: the kernel's release and the parameters it was booted with.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_kernel {
namespace {

// Dashes and underscores are the same in a parameter's name, and not in its value.
std::string with_plain_name(std::string parameter) {
  const auto end = std::ranges::find(parameter, '=');
  std::replace(parameter.begin(), end, '-', '_');
  return parameter;
}

// Quotes keep blanks together and are not part of the value. What follows "--" is for init.
std::vector<std::string> parameters_of(std::string_view command_line) {
  std::vector<std::string> parameters;
  std::string current;
  bool quoted = false;
  const auto finish = [&] {
    if (!current.empty()) parameters.push_back(with_plain_name(current));
    current.clear();
  };
  for (const char c : command_line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      finish();
    } else {
      current += c;
    }
  }
  finish();
  parameters.erase(std::ranges::find(parameters, "__"), parameters.end());
  return parameters;
}

void judge_parameters(const Fact<std::string>& command_line, const KernelLimits& limits,
                      Findings& findings) {
  if (limits.required.empty() && limits.forbidden.empty()) return;
  if (!command_line) {
    findings.push_back(not_known(kNode, "the kernel's command line", command_line));
    return;
  }
  const auto parameters = parameters_of(*command_line);
  for (const auto& glob : limits.required) {
    if (!matching(parameters, with_plain_name(glob)).empty()) continue;
    findings.push_back(warned(glob, fmt::format("the kernel was booted without {}", glob),
                              Remedy::fix_config, {{}, glob}));
  }
  for (const auto& glob : limits.forbidden) {
    const auto found = matching(parameters, with_plain_name(glob));
    if (found.empty()) continue;
    const std::string names = printable(fmt::format("{}", fmt::join(found, " ")));
    findings.push_back(warned(
        glob, fmt::format("the kernel was booted with {}, which this profile forbids", names),
        Remedy::fix_config, {names}));
  }
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const KernelLimits& limits = profile.host->kernel;
  if (!limits.release && limits.required.empty() && limits.forbidden.empty())
    return not_expected("kernel release or parameters");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const KernelLimits& limits = profile.host->kernel;
  const Kernel& kernel = *snapshot.kernel;

  Findings findings;
  if (limits.release && !kernel.release) {
    findings.push_back(not_known(kNode, "the kernel's release", kernel.release));
  } else if (limits.release && !matches_glob(*limits.release, *kernel.release)) {
    findings.push_back(warned(
        kNode, fmt::format("kernel {}, expected {}", printable(*kernel.release), *limits.release),
        Remedy::fix_config, {*kernel.release, *limits.release}));
  }
  judge_parameters(kernel.command_line, limits, findings);
  return or_pass(std::move(findings),
                 kernel.release ? fmt::format("kernel {} as expected", printable(*kernel.release))
                                : std::string("kernel parameters as expected"));
}

}  // namespace

constinit const Check check{
    .id = "host.kernel",
    .title = "Kernel release and boot parameters are as expected",
    .why =
        "Compares the release of the running kernel with the expected one, and the command line it "
        "was booted with with the parameters that must and must not be there. A node that came up "
        "with another kernel, or without iommu=pt, behaves and performs unlike its neighbours.",
    .fix =
        "Correct the boot loader's configuration (GRUB_CMDLINE_LINUX in /etc/default/grub, then "
        "update-grub) or the image, and reboot.",
    .needs = Probe::kernel,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_kernel
