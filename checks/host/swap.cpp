// SPDX-License-Identifier: Apache-2.0
// host.swap: the node swaps exactly as much as its profile says, which is usually not at all.

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_swap {
namespace {

// Each swap area keeps a page for its header, so the total is a little below the size of the files.
constexpr double kHeaderBytes = 1024.0 * 1024.0;

std::string describe(double bytes) {
  return bytes > 0 ? fmt::format("{} of swap", in_gib(bytes)) : std::string("no swap");
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  if (!profile.host->swap.total) return not_expected("amount of swap");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const Limit<Bytes>& limit = profile.host->swap.total;
  const Fact<std::uint64_t>& total = snapshot.memory->swap_total_bytes;
  if (!total) return {not_known(kNode, "the swap size", total)};

  const auto seen = static_cast<double>(*total);
  const double slack = limit->value > 0 ? kHeaderBytes : 0;
  if (std::abs(seen - limit->value) <= slack) return {passed(describe(seen))};
  return {
      warned(kNode, fmt::format("{}, expected {}", describe(seen), describe(limit->value)),
             Remedy::fix_config,
             {count_value(*total), count_value(static_cast<std::uint64_t>(limit->value)), "B"})};
}

}  // namespace

constinit const Check check{
    .id = "host.swap",
    .title = "Swap is configured as expected",
    .why =
        "Compares SwapTotal with the profile. A job that outgrows its memory should be ended at "
        "once; with swap it slows the whole parallel job down instead, and nobody sees why.",
    .fix =
        "swapoff -a, and remove the line from /etc/fstab or the agent's configuration that turns "
        "it on (on Azure: ResourceDisk.EnableSwap in /etc/waagent.conf).",
    .needs = Probe::memory,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_swap
