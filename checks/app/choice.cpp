// SPDX-License-Identifier: Apache-2.0
#include "checks/app/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "checks/names.hpp"
#include "checks/pci/bus.hpp"
#include "lib/report/report.hpp"

namespace muster::app {
namespace {

template <class T>
void append(std::vector<T>& target, const std::vector<T>& more) {
  target.insert(target.end(), more.begin(), more.end());
}

const PciDevice* on_bus(const Snapshot& snapshot, const Hca& hca) {
  return hca.address ? checks::pci::device_at(snapshot, *hca.address) : nullptr;
}

bool is_ethernet_on_bus(const Snapshot& snapshot, const Hca& hca) {
  const PciDevice* device = on_bus(snapshot, hca);
  return device != nullptr && device->kind == PciKind::ethernet;
}

// A host's own functions made for its guests are no HCAs of their own.
bool is_for_guests(const Snapshot& snapshot, const Hca& hca) {
  const PciDevice* device = on_bus(snapshot, hca);
  return device != nullptr && device->virtual_function;
}

// An RDMA device that does not tell its link layer may be InfiniBand, unless its class on the bus
// says otherwise.
bool may_be_infiniband(const Snapshot& snapshot, const Hca& hca) {
  if (!hca.ports || hca.ports->empty()) return !is_ethernet_on_bus(snapshot, hca);
  return std::ranges::any_of(*hca.ports, [&](const IbPort& port) {
    if (port.link_layer.empty()) return !is_ethernet_on_bus(snapshot, hca);
    return port.link_layer == "InfiniBand";
  });
}

// An HCA that the RDMA stack does not offer is still one: without its driver it is on the bus only.
// None is known to be there where one of the two could not be asked and the other shows none.
std::optional<int> count_hcas(const Snapshot& snapshot) {
  const auto offered = std::ranges::count_if(snapshot.infiniband->hcas, [&](const Hca& hca) {
    return may_be_infiniband(snapshot, hca) && !is_for_guests(snapshot, hca);
  });
  const auto listed = std::ssize(checks::pci::devices_of(snapshot, PciKind::hca));
  const auto most = static_cast<int>(std::max(offered, listed));
  const auto rdma = snapshot.infiniband.status;
  const bool all_told = snapshot.pci.ok() && (rdma == Status::ok || rdma == Status::absent);
  if (most == 0 && !all_told) return std::nullopt;
  return most;
}

std::optional<GpuIds> gpu_ids(const Snapshot& snapshot) {
  if (!snapshot.pci.ok()) return std::nullopt;
  GpuIds ids;
  for (const auto& device : snapshot.pci->devices) {
    if (device.kind != PciKind::gpu) continue;
    ++ids[fmt::format("{:04x}:{:04x}", device.vendor, device.device)];
  }
  return ids;
}

std::optional<int> nvme_disks(const Snapshot& snapshot) {
  if (!snapshot.pci.ok()) return std::nullopt;
  return static_cast<int>(
      std::ranges::count(snapshot.pci->devices, PciKind::nvme, &PciDevice::kind));
}

// A machine without DMI has no such text; one that could not be read may have any.
std::optional<std::string> dmi_text(const Snapshot& snapshot, const Fact<std::string>& text) {
  if (!snapshot.identity.ok() || text.is_unreadable()) return std::nullopt;
  return text.value_or("");
}

template <class To, class From>
std::optional<To> known(const Fact<From>& fact) {
  if (!fact) return std::nullopt;
  return static_cast<To>(*fact);
}

}  // namespace

tl::unexpected<Failure> bad_configuration(const Error& error) {
  return tl::unexpected<Failure>(Failure{.status = kExitConfiguration, .message = error.message});
}

tl::unexpected<Failure> undecided(const Error& error) {
  return tl::unexpected<Failure>(Failure{.status = kExitUndecided, .message = error.message});
}

std::filesystem::path data_folder(const std::map<std::string, std::string>& variables) {
  const auto named = variables.find("MUSTER_DATA_DIR");
  if (named != variables.end() && !named->second.empty()) return named->second;
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return "/usr/share/muster";
  return program.parent_path().parent_path() / "share" / "muster";
}

ProfileSources sources_of(const std::filesystem::path& data,
                          std::string_view root,
                          std::vector<std::string> settings) {
  return {.shipped = data / "profiles",
          .site = std::filesystem::path(root) / "etc" / "muster",
          .settings = std::move(settings)};
}

Result<Profile> read_profile_of(const ProfileSources& sources, std::string_view name) {
  auto profile = load_profile(sources, name);
  if (!profile) return profile;
  if (auto known = check_names(*profile); !known) return tl::unexpected(known.error());
  return profile;
}

Attempt<std::optional<Named>> profile_name(const ProfileSources& sources, const std::string& name) {
  if (!name.empty()) return Named{.profile = name, .evidence = "named by --profile", .place = ""};
  auto site = site_profile(sources);
  if (!site) return bad_configuration(site.error());
  if (site->profile.empty()) return std::nullopt;
  return Named{.profile = std::move(site->profile),
               .evidence = fmt::format("named by {}", (sources.site / "muster.yaml").string()),
               .place = std::move(site->place)};
}

Attempt<Choice> named_profile(const ProfileSources& sources, Named named) {
  auto profile = read_profile_of(sources, named.profile);
  if (!profile) {
    auto error = std::move(profile.error());
    // What is wrong inside of the profile names its own place.
    if (error.missing && !named.place.empty()) {
      error.message = fmt::format("{}: 'profile': {}", named.place, error.message);
    }
    return bad_configuration(error);
  }
  return Choice{.profile = std::move(*profile), .evidence = {std::move(named.evidence)}};
}

std::vector<std::string> with_gaps(std::vector<std::string> evidence, const Snapshot& snapshot) {
  constexpr ProbeSet kAsked =
      Probe::identity | Probe::cpu | Probe::memory | Probe::pci | Probe::infiniband;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    const bool failed = section.status == Status::timeout || section.status == Status::error;
    if (!failed || !kAsked.contains(probe)) return;
    evidence.push_back(
        fmt::format("the {} probe did not help: {}", to_string(probe), section.reason));
  });
  return evidence;
}

Hardware hardware_of(const Snapshot& snapshot) {
  return {.chassis_asset_tag = dmi_text(snapshot, snapshot.identity->chassis_asset_tag),
          .dmi_vendor = dmi_text(snapshot, snapshot.identity->dmi_vendor),
          .gpu_pci_ids = gpu_ids(snapshot),
          .infiniband_hcas = count_hcas(snapshot),
          .nvme_disks = nvme_disks(snapshot),
          .cores = known<int>(snapshot.cpu->cores),
          .memory_bytes = known<double>(snapshot.memory->total_bytes)};
}

Attempt<Choice> recognised_profile(const ProfileSources& sources, const Snapshot& snapshot) {
  auto recognised = recognise(sources, hardware_of(snapshot));
  if (!recognised) return bad_configuration(recognised.error());
  auto profile = read_profile_of(sources, recognised->profile);
  if (!profile) return bad_configuration(profile.error());
  return Choice{.profile = std::move(*profile),
                .evidence = with_gaps(std::move(recognised->evidence), snapshot)};
}

Wanted wanted_of(const Profile& profile) {
  Wanted wanted;
  for (const auto& [key, value] : profile.host.sysctl.values) wanted.sysctls.push_back(key);
  append(wanted.files, profile.host.programs.executable);
  append(wanted.files, profile.host.programs.present);
  append(wanted.files, profile.host.container_storage.paths);
  append(wanted.libraries, profile.env.libraries.required);
  append(wanted.libraries, profile.env.libraries.optional);
  wanted.nccl_topology = profile.topo.nccl_file.path.value_or("");
  const auto statfs = std::chrono::duration<double>(profile.host.mounts.answer_within.value);
  if (statfs.count() > 0) {
    wanted.statfs_deadline = std::chrono::duration_cast<std::chrono::milliseconds>(statfs);
  }
  return wanted;
}

}  // namespace muster::app
