// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/node_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

// One of the names may lack the domain; two domains must be the same.
bool is_same_host(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const bool both = a.find('.') != std::string_view::npos && b.find('.') != std::string_view::npos;
  return !both && without_domain(a) == without_domain(b);
}

}  // namespace

Result<std::vector<NodeName>> parse_names(std::string_view text) {
  std::vector<NodeName> names;
  for (const auto line : split_lines(text)) {
    const auto bar = line.find('|');
    if (bar == std::string_view::npos || bar == 0 || bar + 1 == line.size()) {
      return make_error(fmt::format("sinfo: invalid line \"{}\", expected {}", printable(line, 80),
                                    kNamesFormat));
    }
    names.push_back(
        {.node = std::string(line.substr(0, bar)), .host = std::string(line.substr(bar + 1))});
  }
  // A node has a line for each of its partitions.
  std::ranges::sort(names, {}, &NodeName::node);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<std::string> node_on(const std::vector<NodeName>& names, std::string_view host) {
  std::vector<std::string> found;
  for (const auto& name : names) {
    if (is_same_host(name.host, host)) found.push_back(name.node);
  }
  if (found.empty()) {
    return make_missing(fmt::format("Slurm has no node on the host {}", printable(host, 100)));
  }
  if (found.size() == 1) return found.front();
  const auto own = std::ranges::find(found, without_domain(host));
  if (own != found.end()) return *own;
  return make_error(fmt::format(
      "the host {} has {} nodes in Slurm, as {} and {}: SLURMD_NODENAME "
      "is to say which is meant",
      printable(host, 100), found.size(), printable(found[0], 100), printable(found[1], 100)));
}

}  // namespace muster::slurm
