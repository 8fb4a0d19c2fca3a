// SPDX-License-Identifier: Apache-2.0
// A check's word about a node whose sections are there, as the runner asks for it.
#pragma once

#include <utility>

#include "checks/check.hpp"

namespace muster {

[[nodiscard]] inline Findings ask(const Check& check, const Snapshot& snapshot,
                                  const Profile& profile, const Context& context = {}) {
  if (check.not_here != nullptr) {
    if (auto nothing = check.not_here(snapshot, profile)) return {*std::move(nothing)};
  }
  return check.judge_in != nullptr ? check.judge_in(snapshot, profile, context)
                                   : check.judge(snapshot, profile);
}

}  // namespace muster
