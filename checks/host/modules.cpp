// SPDX-License-Identifier: Apache-2.0
// host.modules: kernel modules that jobs need are loaded or built in.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_modules {
namespace {

// The kernel makes no difference between dashes and underscores in a module's name.
std::string plain(std::string_view name) {
  std::string text(trim(name));
  std::ranges::replace(text, '-', '_');
  return text;
}

// Families of protocols and ciphers that the kernel loads for whoever opens such a socket, with or
// without more words behind the name (can_raw, algif_hash).
constexpr std::array<std::string_view, 31> kLoadedForUsers{
    "af_alg", "af_key", "algif",  "appletalk",  "atm",   "ax25",  "bluetooth", "caif",
    "can",    "dccp",   "decnet", "ieee802154", "ipx",   "kcm",   "l2tp",      "llc2",
    "mctp",   "netrom", "nfc",    "phonet",     "pppoe", "pppox", "qrtr",      "rds",
    "rose",   "rxrpc",  "sctp",   "smc",        "tipc",  "vsock", "x25"};

bool may_be_a_users(std::string_view module) {
  return std::ranges::any_of(kLoadedForUsers, [&](std::string_view family) {
    return module == family ||
           (module.starts_with(family) && module.substr(family.size()).starts_with('_'));
  });
}

Finding unwanted(const std::string& name, bool of_users) {
  return about(name, of_users ? Outcome::warn : Outcome::fail,
               fmt::format("kernel module {} is loaded, and must not be{}", name,
                           of_users ? "; any user can have it loaded" : ""),
               Remedy::fix_config, {true, false});
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const ModuleLimits& limits = profile.host->modules;
  if (limits.required.empty() && limits.forbidden.empty()) return not_expected("kernel modules");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const ModuleLimits& limits = profile.host->modules;
  const Fact<std::vector<std::string>>& modules = snapshot.kernel->modules;
  if (!modules) return {not_known(kNode, "the list of kernel modules", modules)};

  std::set<std::string> loaded;
  for (const auto& module : *modules) loaded.insert(plain(module));
  const auto is_loaded = [&](std::string_view name) { return loaded.contains(plain(name)); };

  Findings findings;
  for (const auto& names : limits.required) {
    const auto alternatives = split(names, '|');
    if (std::ranges::any_of(alternatives, is_loaded)) continue;
    findings.push_back(failed(
        names, fmt::format("kernel module {} is not loaded", fmt::join(alternatives, " or ")),
        Remedy::fix_config, {false, true}));
  }
  for (const auto& name : limits.forbidden) {
    if (is_loaded(name)) findings.push_back(unwanted(name, may_be_a_users(plain(name))));
  }
  return or_pass(
      std::move(findings),
      fmt::format("{} as expected",
                  counted(limits.required.size() + limits.forbidden.size(), "kernel module")));
}

}  // namespace

constinit const Check check{
    .id = "host.modules",
    .title = "Kernel modules that jobs need are loaded",
    .why =
        "Looks for the kernel modules that the profile requires, loaded or built in, and for those "
        "it forbids. Without nvidia_uvm CUDA does not start, without ib_uverbs no RDMA, without "
        "nvidia_peermem (or dma-buf in its place) GPUs and InfiniBand talk through host memory at "
        "a fraction of the speed. A forbidden module that the kernel loads for any user who opens "
        "such a socket (sctp, tipc, can …) warns.",
    .fix =
        "modprobe NAME; if that fails, dmesg says why (driver and kernel versions that do not fit, "
        "DKMS build missing after a kernel update). Keep it in /etc/modules-load.d; forbid a "
        "module in /etc/modprobe.d.",
    .needs = Probe::kernel,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_modules
