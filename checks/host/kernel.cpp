// SPDX-License-Identifier: Apache-2.0
// The running kernel: its release, boot parameters, settings, modules, resource limits and clock.
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// Dashes and underscores are equivalent in a parameter's name, but not in its value.
std::string with_plain_name(std::string parameter) {
  const auto end = std::ranges::find(parameter, '=');
  std::replace(parameter.begin(), end, '-', '_');
  return parameter;
}

// Quotes keep blanks together and are not part of the value. Parameters after "--" are for init.
std::vector<std::string> parameters_of(std::string_view command_line) {
  std::vector<std::string> parameters;
  std::string current;
  bool quoted = false;
  const auto finish = [&] {
    if (!current.empty()) parameters.push_back(with_plain_name(current));
    current.clear();
  };
  for (const char c : command_line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      finish();
    } else {
      current += c;
    }
  }
  finish();
  parameters.erase(std::ranges::find(parameters, "__"), parameters.end());
  return parameters;
}

Findings judge_parameters(const Fact<std::string>& command_line, const KernelLimits& limits) {
  if (limits.required.empty() && limits.forbidden.empty()) return {};
  if (!command_line) return {not_known(kNode, "the kernel command line", command_line)};
  Findings findings;
  const auto parameters = parameters_of(*command_line);
  for (const auto& glob : limits.required) {
    if (!matching(parameters, with_plain_name(glob)).empty()) continue;
    findings.push_back(warned(glob, fmt::format("booted without {}, which is required", glob),
                              Remedy::fix_config, {{}, glob}));
  }
  for (const auto& glob : limits.forbidden) {
    const auto found = matching(parameters, with_plain_name(glob));
    if (found.empty()) continue;
    const std::string names = printable(fmt::format("{}", fmt::join(found, " ")));
    findings.push_back(warned(glob, fmt::format("booted with {}, which is forbidden", names),
                              Remedy::fix_config, {names}));
  }
  return findings;
}

Findings judge_kernel(const Snapshot& snapshot, const Profile& profile) {
  const KernelLimits& limits = profile.host->kernel;
  const Kernel& kernel = *snapshot.kernel;
  Findings findings;
  if (limits.release && !kernel.release) {
    findings.push_back(not_known(kNode, "the kernel release", kernel.release));
  } else if (limits.release && !matches_glob(*limits.release, *kernel.release)) {
    findings.push_back(warned(
        kNode, fmt::format("kernel {}, expected {}", printable(*kernel.release), *limits.release),
        Remedy::fix_config, {*kernel.release, *limits.release}));
  }
  append(findings, judge_parameters(kernel.command_line, limits));
  return or_pass(std::move(findings),
                 kernel.release ? fmt::format("kernel {} as expected", printable(*kernel.release))
                                : std::string("kernel parameters as expected"));
}

// The kernel separates numbers by tabs, profiles by blanks.
std::string with_single_blanks(std::string_view value) {
  return fmt::format("{}", fmt::join(split_words(value), " "));
}

// `expected`: the allowed values, separated by "|".
std::optional<Finding> judge_setting(std::string_view key, const Fact<std::string>& fact,
                                     const std::string& expected) {
  if (fact.is_absent()) {
    return skipped(fmt::format("this kernel has no {}: {}", key, fact.why()), key);
  }
  if (!fact) return not_known(key, key, fact);
  const std::string seen = with_single_blanks(*fact);
  const bool allowed = std::ranges::any_of(split(expected, '|'), [&](std::string_view word) {
    return with_single_blanks(word) == seen;
  });
  if (allowed) return std::nullopt;
  return warned(key, fmt::format("{} is {}, expected {}", key, printable(seen), expected),
                Remedy::fix_config, {seen, expected});
}

Findings judge_sysctl(const Snapshot& snapshot, const Profile& profile) {
  const SysctlLimits& limits = profile.host->sysctl;
  const Kernel& kernel = *snapshot.kernel;
  const auto missing = Fact<std::string>::unreadable("the snapshot does not include it");
  const std::size_t settings = limits.values.size() + (limits.transparent_hugepage.empty() ? 0 : 1);
  Findings findings;
  for (const auto& [key, expected] : limits.values) {
    const auto entry = kernel.sysctl.find(key);
    append(findings,
           judge_setting(key, entry == kernel.sysctl.end() ? missing : entry->second, expected));
  }
  if (!limits.transparent_hugepage.empty()) {
    const auto allowed = fmt::format("{}", fmt::join(words_for(limits.transparent_hugepage), "|"));
    append(findings, judge_setting("transparent_hugepage", kernel.transparent_hugepage, allowed));
  }
  const auto skips =
      static_cast<std::size_t>(std::ranges::count(findings, Outcome::skip, &Finding::outcome));
  if (skips == findings.size() && skips < settings) {
    findings.push_back(
        passed(fmt::format("{} as expected", counted(settings - skips, "kernel setting"))));
  }
  return findings;
}

// Dashes and underscores are equivalent in a module's name.
std::string module_name(std::string_view name) {
  std::string text(trim(name));
  std::ranges::replace(text, '-', '_');
  return text;
}

// The kernel loads these protocols and ciphers for any user who opens such a socket. Names may have
// a suffix (can_raw, algif_hash).
bool may_be_loaded_by_user(std::string_view module) {
  constexpr std::array<std::string_view, 31> kFamilies{
      "af_alg", "af_key", "algif",  "appletalk",  "atm",   "ax25",  "bluetooth", "caif",
      "can",    "dccp",   "decnet", "ieee802154", "ipx",   "kcm",   "l2tp",      "llc2",
      "mctp",   "netrom", "nfc",    "phonet",     "pppoe", "pppox", "qrtr",      "rds",
      "rose",   "rxrpc",  "sctp",   "smc",        "tipc",  "vsock", "x25"};
  return std::ranges::any_of(kFamilies, [&](std::string_view family) {
    return module == family ||
           (module.starts_with(family) && module.substr(family.size()).starts_with('_'));
  });
}

Findings judge_modules(const Snapshot& snapshot, const Profile& profile) {
  const ModuleLimits& limits = profile.host->modules;
  const Fact<std::vector<std::string>>& modules = snapshot.kernel->modules;
  if (!modules) return {not_known(kNode, "the list of kernel modules", modules)};

  std::set<std::string> loaded;
  for (const auto& module : *modules) loaded.insert(module_name(module));
  const auto is_loaded = [&](std::string_view name) { return loaded.contains(module_name(name)); };

  Findings findings;
  for (const auto& names : limits.required) {
    const auto alternatives = split(names, '|');
    if (std::ranges::any_of(alternatives, is_loaded)) continue;
    findings.push_back(failed(
        names, fmt::format("kernel module {} is not loaded", fmt::join(alternatives, " or ")),
        Remedy::fix_config, {false, true}));
  }
  for (const auto& name : limits.forbidden) {
    if (!is_loaded(name)) continue;
    const bool by_user = may_be_loaded_by_user(module_name(name));
    findings.push_back(about(name, by_user ? Outcome::warn : Outcome::fail,
                             fmt::format("forbidden kernel module {} is loaded{}", name,
                                         by_user ? "; any user can cause that" : ""),
                             Remedy::fix_config, {true, false}));
  }
  return or_pass(
      std::move(findings),
      fmt::format("{} as expected",
                  counted(limits.required.size() + limits.forbidden.size(), "kernel module")));
}

// host.limits: the process that starts jobs may lock memory and open enough files.

// `least`: without it, the limit must be unlimited.
std::optional<Finding> judge_limit(const Snapshot& snapshot, std::string_view device,
                                   const Fact<std::string>& limit, const Limit<int>& least) {
  const Limits& seen = snapshot.kernel->limits;
  const std::string what = fmt::format("the limit of {}", device);
  if (!limit) return not_known_here(snapshot, device, what, limit);
  if (*limit == "unlimited") return std::nullopt;
  const auto number = parse_unsigned(*limit);
  if (!number) {
    return unknown(device,
                   fmt::format("{} is unknown: \"{}\" is not a number", what, printable(*limit)));
  }
  if (least && std::cmp_greater_equal(*number, *least)) return std::nullopt;
  auto message = least ? fmt::format("{} may open {}, expected at least {}",
                                     printable(seen.process), counted(*number, "file"), *least)
                       : fmt::format("{} may lock {} KiB of memory, expected unlimited",
                                     printable(seen.process), *number / 1024);
  // Without a process that starts jobs, these are muster's own limits, and jobs may have others.
  const bool own = seen.process == kOwnLimits;
  if (own) message = fmt::format("no process that starts jobs found, and {}", message);
  return about(device, own ? Outcome::warn : Outcome::fail, std::move(message), Remedy::fix_config,
               least ? Values{count_value(*number), *least, "files"}
                     : Values{count_value(*number), "unlimited", "B"});
}

Findings judge_limits(const Snapshot& snapshot, const Profile& profile) {
  const ResourceLimits& limits = profile.host->limits;
  const Limits& seen = snapshot.kernel->limits;
  Findings findings;
  if (limits.memlock_unlimited)
    append(findings, judge_limit(snapshot, "locked memory", seen.memlock_bytes, std::nullopt));
  if (limits.open_files_min)
    append(findings, judge_limit(snapshot, "open files", seen.open_files, limits.open_files_min));
  return or_pass(std::move(findings),
                 fmt::format("resource limits of {} as expected", printable(seen.process)));
}

// host.clock: the clock is synchronised and uses the expected clocksource.

constexpr std::string_view kClock = "clock";
constexpr std::string_view kClocksource = "clocksource";

std::string in_ms(double seconds) { return fmt::format("{:.1f} ms", seconds * 1000.0); }

std::optional<Finding> judge_sync(const Snapshot& snapshot, const ClockLimits& limits) {
  const Fact<TimeSync>& clock = snapshot.kernel->clock;
  if (!clock) return not_known_here(snapshot, kClock, "the state of the clock", clock);
  if (limits.synchronised && !clock->synchronised) {
    // The estimated error is meaningless then.
    return warned(kClock, "clock is not synchronised", Remedy::restart_service, {false, true});
  }
  const double error_s = clock->estimated_error_s;
  if (!limits.error_warn_above || error_s <= limits.error_warn_above->value) return std::nullopt;
  return warned(kClock,
                fmt::format("clock may be wrong by {}, expected at most {}", in_ms(error_s),
                            in_ms(limits.error_warn_above->value)),
                Remedy::restart_service, {error_s, limits.error_warn_above->value, "s"});
}

std::optional<Finding> judge_source(const Fact<std::string>& source, const Words& allowed) {
  if (!source) return not_known(kClocksource, "the clocksource", source);
  if (std::ranges::count(allowed, *source) > 0) return std::nullopt;
  const std::string expected = fmt::format("{}", fmt::join(allowed, " or "));
  return warned(kClocksource,
                fmt::format("clocksource is {}, expected {}", printable(*source), expected),
                Remedy::fix_config, {*source, expected});
}

std::string describe(const Kernel& kernel, const ClockLimits& limits) {
  std::vector<std::string> parts;
  if (kernel.clock && kernel.clock->synchronised) {
    parts.push_back(
        fmt::format("clock synchronised within {}", in_ms(kernel.clock->estimated_error_s)));
  }
  if (kernel.clocksource && !limits.clocksource.empty()) {
    parts.push_back(fmt::format("clocksource {}", printable(*kernel.clocksource)));
  }
  return parts.empty() ? std::string("clock as expected")
                       : fmt::format("{}", fmt::join(parts, ", "));
}

Findings judge_clock(const Snapshot& snapshot, const Profile& profile) {
  const ClockLimits& limits = profile.host->clock;
  Findings findings;
  if (limits.synchronised || limits.error_warn_above)
    append(findings, judge_sync(snapshot, limits));
  if (!limits.clocksource.empty())
    append(findings, judge_source(snapshot.kernel->clocksource, limits.clocksource));
  return or_pass(std::move(findings), describe(*snapshot.kernel, limits));
}

void margins_of_clock(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  const auto& clock = snapshot.kernel->clock;
  if (!clock || !clock->synchronised) return;
  margins.at_most(kClock, "", clock->estimated_error_s, profile.host->clock.error_warn_above);
}

}  // namespace

constinit const Check host_kernel::check{
    .id = "host.kernel",
    .title = "Kernel release and boot parameters are as expected",
    .why =
        "Compares the release of the running kernel, and its boot parameters, with the profile. A "
        "node with another kernel, or without iommu=pt, behaves and performs differently from its "
        "neighbours.",
    .fix =
        "Correct the boot loader's configuration (GRUB_CMDLINE_LINUX in /etc/default/grub, then "
        "update-grub) or the image, and reboot.",
    .needs = Probe::kernel,
    .is_limited = sets<&HostLimits::kernel>,
    .unlimited = "no kernel release or parameters expected by this profile",
    .judge = judge_kernel,
};

constinit const Check host_sysctl::check{
    .id = "host.sysctl",
    .title = "Kernel settings have the expected values",
    .why =
        "Compares settings below /proc/sys, and the mode of transparent huge pages, with the "
        "profile. Automatic NUMA balancing, zone reclaim and huge-page defragmentation slow "
        "parallel jobs down at random times, on some nodes only.",
    .fix =
        "Set the value with sysctl -w and keep it in /etc/sysctl.d. Transparent huge pages: "
        "/sys/kernel/mm/transparent_hugepage/enabled, or transparent_hugepage= at boot.",
    .needs = Probe::kernel,
    .is_limited = sets<&HostLimits::sysctl>,
    .unlimited = "no kernel settings expected by this profile",
    .judge = judge_sysctl,
};

constinit const Check host_modules::check{
    .id = "host.modules",
    .title = "Kernel modules that jobs need are loaded",
    .why =
        "Looks for kernel modules that the profile requires, loaded or built in, and for forbidden "
        "ones. CUDA does not start without nvidia_uvm, RDMA needs ib_uverbs, and without "
        "nvidia_peermem (or dma-buf) GPUs and InfiniBand exchange data through slow host memory. A "
        "forbidden module that the kernel loads for any user who opens such a socket (sctp, tipc, "
        "can …) only warns.",
    .fix =
        "modprobe NAME; if that fails, look in dmesg for the reason (driver and kernel versions "
        "that do not match, DKMS build missing after a kernel update). Keep it in "
        "/etc/modules-load.d; forbid a module in /etc/modprobe.d.",
    .needs = Probe::kernel,
    .is_limited = sets<&HostLimits::modules>,
    .unlimited = "no kernel modules expected by this profile",
    .judge = judge_modules,
};

constinit const Check host_limits::check{
    .id = "host.limits",
    .title = "Jobs may lock memory and open enough files",
    .why =
        "Reads the resource limits of the process that starts jobs (slurmd), which jobs inherit. "
        "RDMA registers memory by locking it: with a limit, InfiniBand programs fail to start or "
        "fall back to TCP. Programs with many ranks or data files run out of open files. If no "
        "such process runs, muster's own limits are judged, and only warn; its capability IPC_LOCK "
        "lifts the limit of locked memory.",
    .fix =
        "For jobs of Slurm set LimitMEMLOCK=infinity and LimitNOFILE= in slurmd's unit (systemctl "
        "edit slurmd) and restart slurmd; for logins set memlock and nofile in "
        "/etc/security/limits.d.",
    .needs = Probe::kernel | Probe::identity,
    .is_limited = sets<&HostLimits::limits>,
    .unlimited = "no resource limits expected by this profile",
    .judge = judge_limits,
};

constinit const Check host_clock::check{
    .id = "host.clock",
    .title = "The clock is synchronised and uses the expected clocksource",
    .why =
        "Reads from the kernel whether the clock is synchronised, its estimated error, and its "
        "hardware source. Wrong clocks break the authentication of Slurm and MUNGE and make logs "
        "of different nodes incomparable; a slow clocksource (hpet, acpi_pm) slows every program "
        "that measures time.",
    .fix =
        "Look at chronyc tracking or timedatectl and restart chrony. Clocksource: see "
        "/sys/devices/system/clocksource/clocksource0, and look in the kernel log for "
        "\"clocksource: … marked unstable\".",
    .needs = Probe::kernel | Probe::identity,
    .is_limited = sets<&HostLimits::clock>,
    .unlimited = "no clock state or clocksource expected by this profile",
    .judge = judge_clock,
    .margins = margins_of_clock,
};

}  // namespace muster::checks
