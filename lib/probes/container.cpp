// SPDX-License-Identifier: Apache-2.0
// Whether this process runs in a container, and which of its namespaces are the node's.

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

using Signs = std::vector<std::string>;

constexpr std::size_t kLargestTable = 4UL * 1024 * 1024;  // of mounts

// The inode numbers of the first namespaces, which the kernel never gives to others: mnt and net
// have fixed ones since Linux 6.18, the others always.
struct Namespace {
  std::string_view name;
  unsigned first;
};

constexpr std::array kNamespaces{Namespace{"mnt", 0xEFFFFFF8}, Namespace{"pid", 0xEFFFFFFC},
                                 Namespace{"net", 0xEFFFFFF9}, Namespace{"ipc", 0xEFFFFFFF},
                                 Namespace{"uts", 0xEFFFFFFE}};
constexpr Namespace kUser{"user", 0xEFFFFFFD};

// Empty if it cannot be read.
std::string link_of(const Root& root, std::string_view process, std::string_view name) {
  return root.read_link(fmt::format("{}/ns/{}", process, name)).value_or("");
}

bool is_first(const Root& root, const Namespace& each) {
  return link_of(root, "/proc/self", each.name) == fmt::format("{}:[{}]", each.name, each.first);
}

// A scope or folder that a runtime makes for one container. A daemon's own unit, docker.service,
// is none.
bool is_of_container(std::string_view part) {
  constexpr std::array<std::string_view, 8> kGlobs{
      "kubepods*",      "docker-*.scope",  "cri-containerd-*.scope", "crio-*.scope",
      "libpod-*.scope", "nerdctl-*.scope", "lxc.payload*",           "lxc"};
  constexpr std::size_t kIdentifier = 64;
  const bool identifier = part.size() == kIdentifier &&
                          part.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return identifier ||
         std::ranges::any_of(kGlobs, [&](auto glob) { return matches_glob(glob, part); });
}

void add_cgroup(const Root& root, std::string_view process, Signs& signs) {
  const auto text = root.read(fmt::format("{}/cgroup", process));
  if (!text) return;
  for (const auto line : split_lines(*text)) {
    for (const auto part : split(line, '/')) {
      if (!is_of_container(part)) continue;
      signs.push_back(fmt::format("cgroup {}", printable(part, 40)));
      return;
    }
  }
}

void add_variables(const Root& root, std::string_view process, Signs& signs) {
  const auto text = root.read(fmt::format("{}/environ", process), kLargestTable);
  if (!text) return;
  for (const auto variable : split(*text, '\0')) {
    if (variable.starts_with("container=")) signs.push_back(printable(variable, 40));
    if (variable.starts_with("KUBERNETES_SERVICE_HOST=")) signs.emplace_back("a Kubernetes pod");
  }
}

// The type of the file system at a mount point of a process; empty if nothing is mounted there.
std::string_view mounted_at(std::string_view table, std::string_view point) {
  std::string_view type;
  for (const auto line : split_lines(table)) {
    const auto words = split_words(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() > 4 && words[4] == point && words.end() - dash > 1) type = *(dash + 1);
  }
  return type;
}

// Images for diskless nodes may be exported containers that kept /.dockerenv, but only in a
// container /etc/hosts is a mount.
Signs signs_of(const Root& root, std::string_view process, std::string_view tree) {
  Signs signs;
  for (const auto* file : {"/run/.containerenv", "/.singularity.d"}) {
    if (root.exists(fmt::format("{}{}", tree, file))) signs.emplace_back(file);
  }
  const auto table = root.read(fmt::format("{}/mountinfo", process), kLargestTable).value_or("");
  if (root.exists(fmt::format("{}/.dockerenv", tree)) && !mounted_at(table, "/etc/hosts").empty()) {
    signs.emplace_back("/.dockerenv");
  }
  if (!is_first(root, kNamespaces[1]) && mounted_at(table, "/") == "overlay") {
    signs.emplace_back("an overlay as root directory");
  }
  add_cgroup(root, process, signs);
  add_variables(root, process, signs);
  return signs;
}

Signs signs_of_init(const Root& root) { return signs_of(root, "/proc/1", "/proc/1/root"); }

// PID 1 of another PID namespace is the node's if nothing suggests that it is a container's.
bool has_init_of_node(const Root& root) {
  if (is_first(root, kNamespaces[1])) return true;
  return !link_of(root, "/proc/1", "mnt").empty() && signs_of_init(root).empty();
}

// Private mount namespaces of services (PrivateTmp=) have the root directory of PID 1.
bool has_other_root(const Root& root) {
  const auto own = read_status(root, "/");
  const auto of_init = read_status(root, "/proc/1/root/");
  return own && of_init &&
         std::pair(own->st_dev, own->st_ino) != std::pair(of_init->st_dev, of_init->st_ino);
}

std::vector<std::string> foreign_namespaces(const Root& root, bool init_of_node) {
  std::vector<std::string> names;
  for (const auto& each : kNamespaces) {
    const auto link = link_of(root, "/proc/self", each.name);
    const bool shared =
        init_of_node && !link.empty() && link == link_of(root, "/proc/1", each.name);
    if (!shared && !is_first(root, each)) names.emplace_back(each.name);
  }
  return names;
}

}  // namespace

std::vector<std::string> foreign_namespaces(const Root& root) {
  return foreign_namespaces(root, has_init_of_node(root));
}

Fact<Container> read_container(const Root& root) {
  auto signs = signs_of(root, "/proc/self", "");
  const bool init_of_node = has_init_of_node(root);
  if (!init_of_node) {
    for (auto& sign : signs_of_init(root)) signs.push_back(std::move(sign));
  } else if (has_other_root(root)) {
    signs.emplace_back("another root directory than PID 1");
  }
  const auto user = link_of(root, "/proc/self", kUser.name);
  if (!user.empty() && !is_first(root, kUser)) signs.emplace_back("a user namespace");
  std::ranges::sort(signs);
  signs.erase(std::unique(signs.begin(), signs.end()), signs.end());
  if (signs.empty()) return Fact<Container>::absent("no sign of a container");
  auto names = foreign_namespaces(root, init_of_node);
  if (names.empty()) return Fact<Container>::absent("all namespaces are the node's");
  return Container{.recognised_by = std::move(signs), .namespaces = std::move(names)};
}

}  // namespace muster
