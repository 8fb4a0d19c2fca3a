// SPDX-License-Identifier: Apache-2.0
// All HCAs are the same board with the same firmware, or what the profile allows for that board.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/agreement.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::checks::ib_firmware {
namespace {

// Facts that are missing, one finding for each device. That no HCA has a board id is the driver's
// way and no fault: then firmware is compared as if all were one board.
Findings what_is_not_known(const std::vector<const Hca*>& hcas) {
  const bool boards_are_told =
      std::ranges::any_of(hcas, [](const Hca* hca) { return hca->board.known(); });
  Findings findings;
  for (const Hca* hca : hcas) {
    if (!hca->firmware) {
      findings.push_back(not_known(hca->name, "the firmware version", hca->firmware));
    }
    if (hca->board.is_unreadable() || (boards_are_told && !hca->board)) {
      findings.push_back(not_known(hca->name, "the board id", hca->board));
    }
  }
  return findings;
}

Findings not_the_same(const std::vector<const Hca*>& hcas) {
  std::vector<Said> boards;
  std::map<std::string, std::vector<Said>> firmware;  // by board: another board has its own
  for (const Hca* hca : hcas) {
    if (hca->board) boards.push_back({hca->name, *hca->board});
    if (hca->firmware) firmware[hca->board.value_or("")].push_back({hca->name, *hca->firmware});
  }
  const Finding like{.outcome = Outcome::warn, .remedy = Remedy::fix_config};
  Findings findings = disagreements(boards, {.what = "board", .devices = "HCAs"}, like);
  for (const auto& [board, said] : firmware) {
    append(findings, disagreements(said, {.what = "firmware", .devices = "HCAs"}, like));
  }
  return findings;
}

Findings not_allowed(const std::vector<const Hca*>& hcas,
                     const std::map<std::string, Words>& allowed) {
  Findings findings;
  if (allowed.empty()) return findings;
  for (const Hca* hca : hcas) {
    if (!hca->board || !hca->firmware) continue;
    const auto entry = allowed.find(*hca->board);
    if (entry == allowed.end()) {
      findings.push_back(
          warned(hca->name, fmt::format("board {} is not one that this profile names", *hca->board),
                 Remedy::fix_config, {*hca->board}));
      continue;
    }
    const Words& versions = entry->second;
    if (versions.empty() || matches_any(versions, *hca->firmware)) continue;
    const auto good_ones = fmt::format("{}", fmt::join(versions, ", "));
    findings.push_back(warned(
        hca->name,
        fmt::format("firmware {} on board {}, allowed {}", *hca->firmware, *hca->board, good_ones),
        Remedy::fix_config, {*hca->firmware, good_ones}));
  }
  return findings;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto hcas = ib::hcas_of(snapshot, profile);
  const IbFirmwareLimits& limits = profile.ib->firmware;
  Findings findings = what_is_not_known(hcas);
  if (limits.same) append(findings, not_the_same(hcas));
  append(findings, not_allowed(hcas, limits.allowed));
  return or_pass(std::move(findings),
                 fmt::format("{} with firmware {}", counted(hcas.size(), "HCA"),
                             hcas.front()->firmware.value_or("")));
}

}  // namespace

constinit const Check check{
    .id = "ib.firmware",
    .title = "HCAs have one board id and one firmware, or allowed ones",
    .why =
        "An HCA that was replaced and not updated runs with other firmware than its neighbours, "
        "which shows as rare hangs and uneven bandwidth. Versions belong to a board id (PSID): "
        "another board has other firmware.",
    .fix =
        "Update the odd HCA's firmware (mlxfwmanager), or put the version on the profile's list. "
        "In a cloud report it to the provider.",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_hcas,
    .judge = judge,
};

}  // namespace muster::checks::ib_firmware
