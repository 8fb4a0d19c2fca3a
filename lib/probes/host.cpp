// SPDX-License-Identifier: Apache-2.0
// Recognises a container and its namespaces, and joins those of the host.
#include "lib/probes/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"
#include "lib/process/child.hpp"
#include "lib/process/program.hpp"

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

// Whether the unit is a scope or folder that a runtime makes for one container, unlike a daemon's
// own unit such as docker.service.
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

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

// In the order of HostNamespaces::opened_. The first one must be that of mounts.
constexpr std::array<std::string_view, 4> kJoined{"mnt", "net", "uts", "ipc"};
constexpr std::string_view kWayBack = "--return-to-container=";

std::vector<std::string_view> missing_capabilities() {
  constexpr std::array kNeeded{std::pair{18U, std::string_view("CAP_SYS_CHROOT")},
                               std::pair{19U, std::string_view("CAP_SYS_PTRACE")},
                               std::pair{21U, std::string_view("CAP_SYS_ADMIN")}};
  const auto effective = effective_capabilities(Root());
  std::vector<std::string_view> missing;
  for (const auto& [bit, name] : kNeeded) {
    if ((effective >> bit & 1U) == 0) missing.push_back(name);
  }
  return missing;
}

tl::unexpected<Error> cannot(std::string_view why) { return make_error("--host: {}", why); }

// Lists everything that is missing, so that one restart of the container is enough.
Result<void> check_container(const std::vector<std::string>& foreign) {
  std::vector<std::string> reasons;
  if (const auto missing = missing_capabilities(); !missing.empty()) {
    reasons.push_back(fmt::format("{} missing (run as root in a privileged container)",
                                  fmt::join(missing, ", ")));
  }
  if (std::ranges::count(foreign, "pid") > 0) {
    reasons.emplace_back(
        "PID 1 is not known to be the host's (start the container with hostPID: true or "
        "--pid=host)");
  }
  if (!reasons.empty()) return cannot(fmt::format("{}", fmt::join(reasons, "; ")));
  return {};
}

// Opens `path`, and keeps it open in another program.
Result<Descriptor> open_path(const char* path, int flags) {
  Descriptor opened(::open(path, flags));
  if (opened.is_open()) return opened;
  const int code = errno;
  return cannot(fmt::format(
      "{}{}", os_error("open", path, code).value().message,
      code == EACCES ? " (a security module, or PID 1 has a capability that the container lacks: "
                       "run it privileged)"
                     : ""));
}

// Whether the host can run this program: its C library may be too old, or missing.
Result<void> try_on_host(const HostNamespaces& host, const std::string& self) {
  constexpr auto kLongest = 10s;
  return run_in_child("host", kLongest, [&]() -> std::string {
    if (const auto joined = host.join(); !joined) return joined.error().message;
    const auto ended = run_program(
        {.program = self, .arguments = {"--version"}, .environment = {}, .limit = kLongest});
    if (ended && ended->status == 0) return {};
    const auto why = ended ? last_line(ended->err) : ended.error().message;
    return cannot(fmt::format("muster does not run there: {}", why)).value().message;
  });
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
    signs.emplace_back("a root directory other than PID 1's");
  }
  const auto user = link_of(root, "/proc/self", kUser.name);
  if (!user.empty() && !is_first(root, kUser)) signs.emplace_back("a user namespace");
  std::ranges::sort(signs);
  signs.erase(std::unique(signs.begin(), signs.end()), signs.end());
  if (signs.empty()) return Fact<Container>::absent(std::string(kNoContainer));
  auto names = foreign_namespaces(root, init_of_node);
  if (names.empty()) return Fact<Container>::absent("all namespaces are the node's");
  return Container{.recognised_by = std::move(signs), .namespaces = std::move(names)};
}

Result<std::optional<HostNamespaces>> HostNamespaces::open() {
  const auto foreign = foreign_namespaces(Root());
  const bool joined = std::ranges::none_of(
      kJoined, [&](std::string_view name) { return std::ranges::count(foreign, name) > 0; });
  if (joined) return std::nullopt;
  TRY(check_container(foreign));
  HostNamespaces host;
  for (std::size_t i = 0; i < kJoined.size(); ++i) {
    const auto path = fmt::format("/proc/1/ns/{}", kJoined[i]);
    TRY_ASSIGN(host.opened_[i], open_path(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  return host;
}

Result<void> HostNamespaces::join(std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (::setns(opened_[i].get(), 0) == 0) continue;
    const int code = errno;
    const bool filtered = status_field(Root(), "Seccomp") == "2";
    return cannot(fmt::format("join its {} namespace: {}{}", kJoined[i], errno_text(code),
                              filtered ? " (the container has a seccomp filter)" : ""));
  }
  return {};
}

Result<void> restart_with_libraries_of_host(std::span<const char* const> arguments,
                                            const Variables& variables) {
  TRY_ASSIGN(const auto host, HostNamespaces::open());
  if (!host) return {};
  TRY_ASSIGN(const auto program, open_path("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  // By the number of this process, since run_program() closes its descriptors in the child.
  const auto self = fmt::format("/proc/{}/fd/{}", ::getpid(), program.get());
  TRY(try_on_host(*host, self));
  TRY_ASSIGN(const auto mounts, open_path("/proc/self/ns/mnt", O_RDONLY));
  TRY_ASSIGN(const auto root, open_path("/", O_PATH));
  TRY_ASSIGN(const auto folder, open_path(".", O_PATH));

  std::vector<std::string> words{
      "muster", fmt::format("{}{},{},{}", kWayBack, mounts.get(), root.get(), folder.get())};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto kept = variables;
  std::erase_if(kept, [](const auto& variable) { return variable.first.starts_with("LD_"); });
  const ExecStrings given(std::move(words));
  const ExecStrings environment(assignments_of(kept));
  TRY(host->join(1));
  ::execve(self.c_str(), given.get(), environment.get());
  return cannot(fmt::format("start muster again: {}", errno_text(errno)));
}

Result<bool> return_to_container(std::span<const char* const>& arguments) {
  if (arguments.empty() || !std::string_view(arguments.front()).starts_with(kWayBack)) return false;
  std::vector<Descriptor> way;
  for (const auto number :
       split(std::string_view(arguments.front()).substr(kWayBack.size()), ',')) {
    way.emplace_back(static_cast<int>(parse_unsigned(number).value_or(INT_MAX)));
  }
  arguments = arguments.subspan(1);
  const bool back = way.size() == 3 && ::setns(way[0].get(), CLONE_NEWNS) == 0 &&
                    ::fchdir(way[1].get()) == 0 && ::chroot(".") == 0 &&
                    ::fchdir(way[2].get()) == 0;
  if (!back) return cannot(fmt::format("return to the container: {}", errno_text(errno)));
  return true;
}

}  // namespace muster
