// SPDX-License-Identifier: Apache-2.0
// Services, programs, files, container storage and interfaces that jobs need.
#include <array>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// Like systemctl, accepts names without ".service".
std::string unit_name(std::string_view name) {
  constexpr std::string_view kKinds =
      "service socket timer mount automount target path slice scope swap device";
  const auto dot = name.rfind('.');
  const auto kinds = split(kKinds, ' ');
  const bool complete =
      dot != std::string_view::npos && std::ranges::count(kinds, name.substr(dot + 1)) > 0;
  return complete ? std::string(name) : fmt::format("{}.service", name);
}

Findings judge_services(const Snapshot& snapshot, const Profile& profile) {
  const ServiceLimits& limits = profile.host->services;
  const Services& services = *snapshot.services;
  if (!services.active) return {not_known(kNode, "the list of active services", services.active)};
  Findings findings;
  for (const auto& name : limits.active) {
    const std::string unit = unit_name(name);
    if (!matching(*services.active, unit).empty()) continue;
    const bool has_failed = services.failed && !matching(*services.failed, unit).empty();
    const std::string state = has_failed ? "failed" : "inactive";
    findings.push_back(failed(printable(unit),
                              fmt::format("{} is {}, expected active", unit, state),
                              Remedy::restart_service, {state, "active"}));
  }
  for (const auto& name : limits.inactive) {
    for (const auto& unit : matching(*services.active, unit_name(name))) {
      findings.push_back(failed(printable(unit),
                                fmt::format("{} is active, expected inactive", printable(unit)),
                                Remedy::fix_config, {"active", "inactive"}));
    }
  }
  return or_pass(std::move(findings),
                 fmt::format("{} active or inactive as expected",
                             counted(limits.active.size() + limits.inactive.size(), "service")));
}

// Null if the snapshot does not include the file.
const FileFact* find_file(const Environment& environment, const std::string& path) {
  const auto found = std::ranges::find(environment.files, path, &FileFact::path);
  return found == environment.files.end() ? nullptr : &*found;
}

Finding file_not_known(const std::string& path) {
  return unknown(
      path, fmt::format("whether {} exists is unknown: the snapshot does not include it", path));
}

Finding wrong_file(const std::string& path, std::string seen, std::string limit) {
  auto message = fmt::format("{} is {}, expected {}", path, seen, limit);
  return warned(path, std::move(message), Remedy::fix_config, {std::move(seen), std::move(limit)});
}

Findings judge_programs(const Snapshot& snapshot, const Profile& profile) {
  const auto& [executable, present] = profile.host->programs;
  Findings findings;
  for (const auto* paths : {&executable, &present}) {
    const std::string expected = paths == &executable ? "executable" : "present";
    for (const auto& path : *paths) {
      const FileFact* file = find_file(*snapshot.environment, path);
      if (file == nullptr) {
        findings.push_back(file_not_known(path));
      } else if (!file->exists) {
        findings.push_back(wrong_file(path, "missing", expected));
      } else if (paths == &executable && !file->executable) {
        findings.push_back(wrong_file(path, "not executable", expected));
      }
    }
  }
  return or_pass(std::move(findings),
                 fmt::format("{} and {} in place", counted(executable.size(), "program"),
                             counted(present.size(), "file")));
}

std::optional<Finding> judge_free_space(const FileFact& file, Bytes least) {
  if (!file.space) return not_known(file.path, "the free space", file.space);
  const auto free = static_cast<double>(file.space->available_bytes);
  if (free >= least.value) return std::nullopt;
  return warned(file.path,
                fmt::format("{} free in {}, expected at least {}", in_gib(free), file.path,
                            in_gib(least.value)),
                Remedy::fix_config,
                {count_value(file.space->available_bytes),
                 count_value(static_cast<std::uint64_t>(least.value)), "B"});
}

// File systems such as btrfs count no inodes.
std::optional<Finding> judge_free_inodes(const FileFact& file, int least) {
  if (!file.space) return not_known(file.path, "the number of free inodes", file.space);
  const auto& [total, free] = std::pair(file.space->inodes_total, file.space->inodes_free);
  if (total == 0 || free >= static_cast<std::uint64_t>(std::max(0, least))) return std::nullopt;
  return warned(
      file.path,
      fmt::format("{} free in {}, expected at least {}", counted(free, "inode"), file.path, least),
      Remedy::fix_config, {count_value(free), least, "inodes"});
}

std::optional<Finding> judge_directory(const Environment& environment, const std::string& path,
                                       const ContainerStorageLimits& limits) {
  const FileFact* file = find_file(environment, path);
  if (file == nullptr) return file_not_known(path);
  if (!file->exists) return wrong_file(path, "missing", "directory");
  if (!file->directory) return wrong_file(path, "not a directory", "directory");
  if (!file->writable) {
    return not_known(path, fmt::format("whether {} is writable", path), file->writable);
  }
  if (!*file->writable) return wrong_file(path, "not writable", "writable");
  auto finding = limits.free_min ? judge_free_space(*file, *limits.free_min) : std::nullopt;
  if (finding || !limits.inodes_free_min) return finding;
  return judge_free_inodes(*file, *limits.inodes_free_min);
}

Findings judge_container_storage(const Snapshot& snapshot, const Profile& profile) {
  const ContainerStorageLimits& limits = profile.host->container_storage;
  Findings findings;
  for (const auto& path : limits.paths) {
    append(findings, judge_directory(*snapshot.environment, path, limits));
  }
  return or_pass(std::move(findings),
                 fmt::format("{} {} for containers writable{}", limits.paths.size(),
                             limits.paths.size() == 1 ? "directory" : "directories",
                             limits.free_min ? ", with free space" : ""));
}

void margins_of_container_storage(const Snapshot& snapshot, const Profile& profile,
                                  Margins& margins) {
  const ContainerStorageLimits& limits = profile.host->container_storage;
  for (const auto& path : limits.paths) {
    const FileFact* file = find_file(*snapshot.environment, path);
    if (file == nullptr || !file->space) continue;
    margins.at_least(path, "", static_cast<double>(file->space->available_bytes), limits.free_min);
    if (file->space->inodes_total == 0) continue;
    margins.at_least(path, "inodes", static_cast<double>(file->space->inodes_free),
                     limits.inodes_free_min);
  }
}

// host.ethernet: the network interfaces of the profile exist, are up and run at full speed.

// Empty if unknown. Some drivers always report the state "unknown" but have a carrier.
std::optional<bool> is_up(const Interface& interface) {
  constexpr std::array<std::string_view, 5> kNotUp{"down", "lowerlayerdown", "notpresent",
                                                   "dormant", "testing"};
  const std::string state = interface.operstate.value_or("");
  if (state == "up") return true;
  if (std::ranges::find(kNotUp, state) != kNotUp.end()) return false;
  if (interface.carrier) return *interface.carrier;
  if (interface.operstate) return false;
  return std::nullopt;
}

std::optional<Finding> judge_speed(const Interface& interface, BitsPerSecond expected) {
  if (!interface.speed_mbps) {
    return not_known(interface.name, "the speed of the interface", interface.speed_mbps);
  }
  const auto seen = static_cast<double>(*interface.speed_mbps) * 1e6;
  if (seen >= expected.value) return std::nullopt;
  return failed(interface.name,
                fmt::format("{} runs at {:g} Gb/s, expected {:g} Gb/s", interface.name, seen / 1e9,
                            expected.value / 1e9),
                Remedy::fix_config, {seen / 1e9, expected.value / 1e9, "Gb/s"});
}

std::optional<Finding> judge_interface(const Interface& interface,
                                       const EthernetInterface& expected) {
  const auto up = is_up(interface);
  if (!up) return not_known(interface.name, "whether the interface is up", interface.operstate);
  if (*up) return expected.speed ? judge_speed(interface, *expected.speed) : std::nullopt;
  const std::string state = printable(interface.operstate.value_or("without carrier"));
  return failed(interface.name,
                fmt::format("{} is {}, expected up", interface.name,
                            state == "unknown" ? "in an unknown state" : state),
                Remedy::fix_config, {state, "up"});
}

// Matches by name of the interface or its RDMA device; `rdma` matches any Ethernet RDMA device,
// because images name them differently.
bool matches_limit(const Interface& interface, const EthernetInterface& expected) {
  constexpr unsigned kEthernet = 1;
  if (matches_glob(expected.name, interface.name)) return true;
  if (interface.hca.empty()) return false;
  return matches_glob(expected.name, interface.hca) ||
         (expected.rdma && interface.type && *interface.type == kEthernet);
}

Findings judge_ethernet(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  std::size_t judged = 0;
  for (const auto& expected : profile.host->ethernet.interfaces) {
    const auto before = judged;
    for (const auto& interface : snapshot.network->interfaces) {
      if (!matches_limit(interface, expected)) continue;
      ++judged;
      append(findings, judge_interface(interface, expected));
    }
    if (judged == before)
      findings.push_back(failed(expected.name,
                                fmt::format("network interface {} is missing", expected.name),
                                Remedy::fix_config, {false, true}));
  }
  return or_pass(std::move(findings), fmt::format("{} up", counted(judged, "network interface")));
}

}  // namespace

constinit const Check host_services::check{
    .id = "host.services",
    .title = "Services that jobs need are active, and those that disturb them are not",
    .why =
        "Compares the active systemd units with those that the profile requires and forbids. "
        "Without nvidia-fabricmanager the GPUs of an NVSwitch machine are unusable, and without "
        "munge or slurmd the node accepts no jobs; an update or a scan in the background slows one "
        "node of a parallel job down.",
    .fix =
        "Find out with systemctl status UNIT and journalctl -u UNIT why it stopped; then systemctl "
        "restart UNIT. Disable a service that must not run: systemctl disable --now UNIT.",
    .needs = Probe::services,
    .is_limited = sets<&HostLimits::services>,
    .unlimited = "no services expected by this profile",
    .judge = judge_services,
};

constinit const Check host_programs::check{
    .id = "host.programs",
    .title = "Programs and files that jobs need are in place",
    .why =
        "Looks for the programs and files that the profile lists: the container runtime (enroot, "
        "the pyxis plugin, nvidia-container-cli), topology files, health-check tools. On a node "
        "that was set up only partly, every container job fails at its start.",
    .fix =
        "Install the missing package, or repeat the node's setup (cloud-init, Ansible, the image "
        "build) and read its log.",
    .needs = Probe::environment,
    .is_limited = sets<&HostLimits::programs>,
    .unlimited = "no programs or files expected by this profile",
    .judge = judge_programs,
};

constinit const Check host_container_storage::check{
    .id = "host.container_storage",
    .title = "Container storage exists, is writable and has free space and inodes",
    .why =
        "Looks at the directories where enroot, docker or containerd keep images and running "
        "containers. Layers of 20 GB are common: if a disk was not mounted after a reboot, or is "
        "full of old images, container jobs fail while they unpack.",
    .fix =
        "Mount or rebuild the local disk that belongs there (see host.nvme and host.mounts), "
        "create the directory with the mode that the runtime requires, or remove old images "
        "(enroot list, docker system prune).",
    .needs = Probe::environment,
    .is_limited =
        [](const Profile& profile) { return !profile.host->container_storage.paths.empty(); },
    .unlimited = "no container storage expected by this profile",
    .judge = judge_container_storage,
    .margins = margins_of_container_storage,
};

constinit const Check host_ethernet::check{
    .id = "host.ethernet",
    .title = "Network interfaces exist, are up and run at full speed",
    .why =
        "Looks for the network interfaces that the profile lists (by their name or that of their "
        "RDMA device), whether they are up, and at what speed. An interface whose driver reports "
        "no state is up if it has a carrier. NCCL, MPI and Slurm start over this network: "
        "without it jobs hang at start, and a slow interface delays checkpoints.",
    .fix =
        "Look at ip -s link show IFACE, ethtool IFACE and the kernel log. Check the cable, the "
        "switch port and the address configuration. On Azure a missing mlx5_an device means that "
        "accelerated networking is off: stop and start the machine.",
    .needs = Probe::network,
    .is_limited = sets<&HostLimits::ethernet>,
    .unlimited = "no network interfaces expected by this profile",
    .judge = judge_ethernet,
};

}  // namespace muster::checks
