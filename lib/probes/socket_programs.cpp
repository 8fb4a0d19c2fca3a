// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/socket_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/probes/parse/processes.hpp"

namespace muster {
namespace {

// "socket:[12345]".
std::optional<std::uint64_t> inode_of(std::string_view link) {
  constexpr std::string_view kPrefix = "socket:[";
  if (!link.starts_with(kPrefix) || !link.ends_with(']')) return std::nullopt;
  const auto inode = parse_unsigned(link.substr(kPrefix.size(), link.size() - kPrefix.size() - 1));
  return inode ? std::optional(*inode) : std::nullopt;
}

Result<void> add_process(const Root& root, const std::string& pid, SocketPrograms& programs) {
  const auto folder = fmt::format("/proc/{}", pid);
  const auto files = root.list(fmt::format("{}/fd", folder));
  if (!files && files.error().missing) return {};  // it has ended meanwhile
  if (!files) return tl::unexpected(files.error());
  std::string name;
  for (const auto& file : *files) {
    const auto link = root.read_link(fmt::format("{}/fd/{}", folder, file));
    const auto inode = link ? inode_of(*link) : std::nullopt;
    if (!inode) continue;
    if (name.empty()) name = printable(root.read_line(fmt::format("{}/comm", folder)).value_or(""));
    auto& names = programs[*inode];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return {};
}

}  // namespace

Result<SocketPrograms> read_socket_programs(const Root& root) {
  const auto names = root.list("/proc", kMostProcesses);
  if (!names) return tl::unexpected(names.error());
  SocketPrograms programs;
  for (const auto& name : *names) {
    if (!parse_unsigned(name)) continue;
    if (auto added = add_process(root, name, programs); !added)
      return tl::unexpected(added.error());
  }
  return programs;
}

}  // namespace muster
