// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/slurm_lists.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kMostNodes = 65536;

// The first of what brackets hold, "0007-0010,12", with its leading zeros.
Result<std::string_view> first_number(std::string_view inside) {
  const auto number = inside.substr(0, inside.find_first_of(",-"));
  if (!parse_unsigned(number)) {
    return make_error(fmt::format("\"{}\" is no range of numbers", printable(inside, 60)));
  }
  return number;
}

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

Result<std::string> first_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    const auto plain = list.substr(0, list.find_first_of(",["));
    host.append(plain);
    list.remove_prefix(plain.size());
    if (list.empty() || list.front() == ',') break;
    const auto end = list.find(']');
    if (end == std::string_view::npos) return make_error("a bracket is not closed");
    const auto number = first_number(list.substr(1, end - 1));
    if (!number) return tl::unexpected(number.error());
    host.append(*number);
    list.remove_prefix(end + 1);
  }
  if (host.empty()) return make_error("the first host has no name");
  return host;
}

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
