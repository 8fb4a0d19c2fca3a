// SPDX-License-Identifier: Apache-2.0

#include "lib/repair/record.hpp"

#include <map>

namespace muster::repair {

std::vector<RepairRecord> latest(const std::vector<RepairRecord>& records) {
  std::vector<RepairRecord> operations;
  std::map<std::string_view, std::size_t> place;
  for (const auto& record : records) {
    const auto [found, is_new] = place.try_emplace(record.id, operations.size());
    if (is_new) {
      operations.push_back(record);
    } else {
      operations[found->second] = record;
    }
  }
  return operations;
}

}  // namespace muster::repair
