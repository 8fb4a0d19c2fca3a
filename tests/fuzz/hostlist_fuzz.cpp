// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a host list and as output of sinfo: an accepted list is the same set of names
// after folding, and sinfo's output can always be judged.
#include <set>
#include <string>
#include <vector>

#include "lib/hosts/hostlist.hpp"
#include "slurm/cluster/node_state.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster {
namespace {

std::set<std::string> set_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

void try_hostlist(std::string_view text) {
  constexpr std::size_t kMax = 2000;  // keeps a round short
  const auto names = expand_hostlist(text, kMax);
  const auto first = first_of_hostlist(text);
  if (!names) return;
  require(!names->empty() && names->size() <= kMax && first && *first == names->front());
  const auto list = fold_hostlist(*names);
  const auto again = expand_hostlist(list, kMax);
  require(again && set_of(*again) == set_of(*names) && again->size() == set_of(*names).size());
}

void try_sinfo(std::string_view text) {
  const auto nodes = slurm::parse_sinfo(text, "5eed");
  if (!nodes) return;
  std::set<std::string> names;
  for (const auto& node : *nodes) {
    require(!node.name.empty() && names.insert(node.name).second);
    (void)slurm::standing_of(node);
  }
}

}  // namespace

void fuzz(std::string_view text) {
  try_hostlist(text);
  try_sinfo(text);
}

}  // namespace muster
