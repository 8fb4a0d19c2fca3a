// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
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

tl::unexpected<Error> cannot(std::string_view why) {
  return make_error(fmt::format("--host: {}", why));
}

// Everything that is known to be missing, so that a container is started once more, not thrice.
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
    const bool filtered = status_field(Root(), "Seccomp:") == "2";
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
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    if (!name.starts_with("LD_")) environment.push_back(fmt::format("{}={}", name, value));
  }
  const auto pointers = [](std::vector<std::string>& strings) {
    std::vector<char*> all;
    for (auto& each : strings) all.push_back(each.data());
    all.push_back(nullptr);
    return all;
  };
  TRY(host->join(1));
  ::execve(self.c_str(), pointers(words).data(), pointers(environment).data());
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
