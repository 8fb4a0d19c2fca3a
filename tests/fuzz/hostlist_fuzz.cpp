// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a host list and as output of sinfo: an accepted list is the same set of names
// after folding, and sinfo's output can always be judged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/hosts/hostlist.hpp"
#include "slurm/cluster/node_state.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void require(bool held) {
  if (!held) std::abort();
}

std::set<std::string> set_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

void try_hostlist(std::string_view text) {
  constexpr std::size_t kMost = 2000;  // keeps a round short
  const auto names = muster::expand_hostlist(text, kMost);
  const auto first = muster::first_of_hostlist(text);
  if (!names) return;
  require(!names->empty() && names->size() <= kMost && first && *first == names->front());
  const auto list = muster::fold_hostlist(*names);
  const auto again = muster::expand_hostlist(list, kMost);
  require(again && set_of(*again) == set_of(*names) && again->size() == set_of(*names).size());
}

void try_sinfo(std::string_view text) {
  const auto nodes = muster::slurm::parse_sinfo(text, "5eed");
  if (!nodes) return;
  std::set<std::string> names;
  for (const auto& node : *nodes) {
    require(!node.name.empty() && names.insert(node.name).second);
    (void)muster::slurm::standing_of(node);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_hostlist(text);
  try_sinfo(text);
  return 0;
}
