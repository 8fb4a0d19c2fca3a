// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/slurm_lists.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kMostNodes = 65536;

struct Group {
  std::uint64_t tasks = 0;
  std::uint64_t nodes = 1;
};

// "2(x4)" or "3".
Result<Group> parse_group(std::string_view text) {
  const auto wrong = make_error(
      fmt::format("\"{}\" is no count of tasks such as 2 or 2(x4)", printable(text, 60)));
  const auto bracket = text.find('(');
  const auto tasks = parse_unsigned(text.substr(0, bracket));
  if (!tasks || *tasks > UINT16_MAX) return wrong;
  if (bracket == std::string_view::npos) return Group{.tasks = *tasks};
  const auto rest = text.substr(bracket);
  if (rest.size() < 4 || !rest.starts_with("(x") || !rest.ends_with(")")) return wrong;
  const auto nodes = parse_unsigned(rest.substr(2, rest.size() - 3));
  if (!nodes || *nodes > kMostNodes) return wrong;
  return Group{.tasks = *tasks, .nodes = *nodes};
}

}  // namespace

Result<std::vector<int>> parse_tasks_per_node(std::string_view text) {
  std::vector<int> result;
  for (const auto part : split(text, ',')) {
    const auto group = parse_group(part);
    if (!group) return tl::unexpected(group.error());
    if (result.size() + group->nodes > kMostNodes) {
      return make_error(fmt::format("more than {} nodes", kMostNodes));
    }
    result.insert(result.end(), group->nodes, static_cast<int>(group->tasks));
  }
  return result;
}

}  // namespace muster::bench
