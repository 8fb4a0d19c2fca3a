// SPDX-License-Identifier: Apache-2.0
// All types and reductions.
#pragma once

#include <vector>

#include "bench/collectives/operation.hpp"
#include "bench/collectives/pattern.hpp"

namespace muster::bench {

inline std::vector<Type> every_type() {
  std::vector<Type> types;
  for (std::size_t i = 0; i < kTypes; ++i) types.push_back(static_cast<Type>(i));
  return types;
}

inline std::vector<Reduction> every_reduction(Type type) {
  std::vector<Reduction> reductions;
  for (std::size_t i = 0; i < kReductions; ++i) {
    const auto reduction = static_cast<Reduction>(i);
    if (can_verify(type, reduction)) reductions.push_back(reduction);
  }
  return reductions;
}

}  // namespace muster::bench
