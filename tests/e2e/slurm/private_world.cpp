// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/slurm/private_world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace muster::e2e {
namespace {

constexpr const char* kInside = "MUSTER_TEST_IN_NAMESPACES";

constexpr std::array kUnshare{"unshare",      "--net", "--pid", "--fork", "--kill-child",
                              "--mount-proc", "--uts", "--ipc", "--mount"};

std::string& reason() {
  static std::string text;
  return text;
}

bool succeeds(const std::string& command) {
  // NOLINTNEXTLINE(cert-env33-c): a line of this file, on the tests' own machine
  return std::system(fmt::format("{} >/dev/null 2>&1", command).c_str()) == 0;
}

bool may_unshare() {
  std::string command;
  for (const auto* word : kUnshare) command += fmt::format("{} ", word);
  return succeeds(fmt::format("{} true", command));
}

std::string missing_program() {
  for (const auto* name : {"slurmctld", "slurmd", "munged", "munge", "unshare", "ip", "sinfo"}) {
    if (!succeeds(fmt::format("command -v {}", name))) {
      return fmt::format("{} is not installed", name);
    }
  }
  return "";
}

// Returns only if it failed.
void start_again(std::vector<char*> arguments) {
  ::setenv(kInside, "1", 1);
  std::vector<std::string> words(kUnshare.begin(), kUnshare.end());
  words.emplace_back("/proc/self/exe");
  std::array<char, 4096> self{};
  if (::readlink("/proc/self/exe", self.data(), self.size() - 1) > 0) words.back() = self.data();
  std::vector<char*> all;
  all.reserve(words.size() + arguments.size());
  for (auto& word : words) all.push_back(word.data());
  all.insert(all.end(), arguments.begin() + 1, arguments.end());
  all.push_back(nullptr);
  ::execvp(all.front(), all.data());
  reason() = fmt::format("unshare: {}", std::strerror(errno));
}

// Slurm's programs find no address at all where there is only loopback, not even that one.
std::string furnish() {
  for (const auto* command :
       {"ip link set lo up", "ip link add muster0 type veth peer name muster1",
        "ip addr add 10.213.0.1/24 dev muster0", "ip link set muster0 up", "ip link set muster1 up",
        "mkdir -p /tmp/muster-e2e", "mount -t tmpfs -o mode=0755 none /tmp/muster-e2e"}) {
    if (!succeeds(command)) return fmt::format("\"{}\" did not work", command);
  }
  constexpr std::string_view kName = "head";
  if (::sethostname(kName.data(), kName.size()) != 0) return "the host name cannot be set";
  return "";
}

}  // namespace

const std::string& why_no_cluster() { return reason(); }

void enter_private_world(const std::vector<char*>& arguments) {
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread so far
  ::setenv("PATH",
           fmt::format("{}:/usr/local/sbin:/usr/sbin:/sbin",
                       std::getenv("PATH") == nullptr ? "/usr/bin:/bin" : std::getenv("PATH"))
               .c_str(),
           1);
  const bool inside = std::getenv(kInside) != nullptr && ::getpid() == 1;
  // NOLINTEND(concurrency-mt-unsafe)
  if (inside) {
    reason() = furnish();
    return;
  }
  reason() = missing_program();
  if (!reason().empty()) return;
  if (!may_unshare()) {
    reason() = "namespaces cannot be made here: that needs CAP_SYS_ADMIN";
    return;
  }
  start_again(arguments);
}

}  // namespace muster::e2e
