// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/profile/layers.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

constexpr int kMaxExtends = 16;

// Reads `recognise` of each profile, and of its parents, once.
class CandidateReader {
 public:
  explicit CandidateReader(const ProfileSources& sources) : sources_(sources) {}

  [[nodiscard]] Result<Candidates> read() {
    TRY_ASSIGN(index_, list_profiles(sources_));
    Candidates candidates;
    std::vector<std::string> unknown;  // of the site's
    for (const auto& [name, file] : index_) {
      TRY_ASSIGN(const auto document, sections_of(file));
      add_aliases(*document, file, candidates.by_name);
      if (document->find("recognise") == nullptr) {
        if (file.of_site) unknown.push_back(name);
        continue;
      }
      TRY_ASSIGN(auto wants, merged(file));
      candidates.profiles.push_back({name, std::move(wants), file.of_site});
    }
    for (const auto& [name, file] : index_) {
      auto& known = candidates.by_name[plain_profile_name(name)];
      const auto other = index_.find(known);
      const bool is_name =
          other != index_.end() && plain_profile_name(known) == plain_profile_name(name);
      if (!is_name || file.of_site) known = name;
    }
    candidates.remarks = remarks_on(unknown);
    return candidates;
  }

 private:
  [[nodiscard]] Result<const Yaml*> sections_of(const ProfileFile& file) {
    const auto known = documents_.find(file.path);
    if (known != documents_.end()) return &known->second;
    auto document =
        file.of_site ? read_own(file) : read_sections(file, {"extends", "aliases", "recognise"});
    if (!document && file.of_site) return tl::unexpected(document.error());
    // An invalid shipped file is an error only for its own profile.
    return &documents_.emplace(file.path, document ? *std::move(document) : Yaml{}).first->second;
  }

  // The site's aliases override shipped ones.
  static void add_aliases(const Yaml& document, const ProfileFile& file,
                          std::map<std::string, std::string>& by_name) {
    const Yaml* aliases = document.find("aliases");
    if (aliases == nullptr) return;
    for (const auto& alias : aliases->items) {
      auto& name = by_name[plain_profile_name(alias.text)];
      if (name.empty() || file.of_site) name = file.stem;
    }
  }

  // A mistake in a site's file must not silently remove its profile from the candidates.
  [[nodiscard]] static Result<Yaml> read_own(const ProfileFile& file) {
    auto document = read_profile(file);
    if (!document) return document;
    Profile scratch;
    TRY(Layers(scratch).check_keys(*document, file.shown));
    return document;
  }

  // A site profile that only others extend needs no `recognise` block.
  [[nodiscard]] std::vector<std::string> remarks_on(const std::vector<std::string>& unknown) const {
    std::vector<std::string> remarks;
    for (const auto& name : unknown) {
      const auto extends_it = [&](const auto& each) {
        const Yaml* base = each.second.find("extends");
        const bool own = each.first.parent_path() == sources_.site / "profiles";
        return own && base != nullptr && base->text == name && each.first.stem() != name;
      };
      if (std::ranges::any_of(documents_, extends_it)) continue;
      remarks.push_back(fmt::format(
          "the site's {} has no recognise block, so no node is recognised as it", printable(name)));
    }
    return remarks;
  }

  // The block of the profile, laid over those that it inherits.
  [[nodiscard]] Result<Recognise> merged(ProfileFile file) {
    std::vector<std::pair<std::string, const Yaml*>> blocks;  // by file, as shown in errors
    for (int level = 0; level < kMaxExtends; ++level) {
      TRY_ASSIGN(const auto document, sections_of(file));
      if (const Yaml* block = document->find("recognise")) blocks.emplace_back(file.shown, block);
      TRY_ASSIGN(const auto parent, extends_of(*document, file));
      if (parent.empty()) break;
      TRY_ASSIGN(file, find_profile(sources_, index_, parent, &file));
    }
    Profile scratch;
    Layers layers(scratch);
    std::ranges::reverse(blocks);
    for (const auto& [shown, block] : blocks) TRY(layers.add_recognise(*block, shown));
    return scratch.recognise;
  }

  const ProfileSources& sources_;
  ProfileIndex index_;
  std::map<std::filesystem::path, Yaml> documents_;
};

// MUSTER_DATA_DIR; empty if it is not set.
std::filesystem::path named_folder(const std::map<std::string, std::string>& variables) {
  const auto named = variables.find("MUSTER_DATA_DIR");
  return named == variables.end() ? "" : named->second;
}

// An RDMA device without a link layer may be InfiniBand, unless its PCI class is Ethernet. A host's
// virtual functions for its guests do not count.
bool may_be_infiniband(const Snapshot& snapshot, const Hca& hca) {
  const PciDevice* device = hca.address ? device_at(snapshot, *hca.address) : nullptr;
  if (device != nullptr && device->virtual_function) return false;
  const bool ethernet = device != nullptr && device->kind == PciKind::ethernet;
  if (!hca.ports || hca.ports->empty()) return !ethernet;
  return std::ranges::any_of(*hca.ports, [&](const IbPort& port) {
    return port.link_layer.empty() ? !ethernet : port.link_layer == "InfiniBand";
  });
}

// Also counts HCAs without a driver, which only the bus lists. Unknown if either could not be
// observed and the other has none.
std::optional<int> count_hcas(const Snapshot& snapshot) {
  const auto offered = std::ranges::count_if(
      snapshot.infiniband->hcas, [&](const Hca& hca) { return may_be_infiniband(snapshot, hca); });
  const auto listed = std::ssize(devices_of(snapshot, PciKind::hca));
  const auto most = static_cast<int>(std::max(offered, listed));
  const auto rdma = snapshot.infiniband.status;
  const bool all_observed = snapshot.pci.ok() && (rdma == Status::ok || rdma == Status::absent);
  if (most == 0 && !all_observed) return std::nullopt;
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

std::optional<int> count_on_bus(const Snapshot& snapshot, PciKind kind) {
  if (!snapshot.pci.ok()) return std::nullopt;
  return static_cast<int>(std::ranges::count(snapshot.pci->devices, kind, &PciDevice::kind));
}

// Empty on a machine without DMI; unknown if it could not be read.
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

Result<Candidates> read_candidates(const ProfileSources& sources) {
  return CandidateReader(sources).read();
}

std::filesystem::path data_folder(const std::map<std::string, std::string>& variables) {
  if (auto named = named_folder(variables); !named.empty()) return named;
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return "/usr/share/muster";
  return program.parent_path().parent_path() / "share" / "muster";
}

ProfileSources sources_of(const std::map<std::string, std::string>& variables,
                          std::string_view root, std::vector<std::string> settings) {
  const auto named = named_folder(variables);
  return {.shipped = named.empty() ? named : named / "profiles",
          .site = std::filesystem::path(root) / "etc" / "muster",
          .settings = std::move(settings)};
}

Attempt<std::optional<Named>> profile_name(const ProfileSources& sources, const std::string& name) {
  if (!name.empty()) return Named{.profile = name, .evidence = "named by --profile", .place = ""};
  auto site = read_site(sources);
  if (!site) return bad_configuration(site.error());
  if (site->profile.empty()) return std::nullopt;
  return Named{.profile = std::move(site->profile),
               .evidence = fmt::format("named by {}", site->shown),
               .place = at(site->shown, site->profile_line)};
}

Attempt<Choice> named_profile(const ProfileSources& sources, Named named, ReadProfile read) {
  auto profile = read(sources, named.profile);
  if (!profile) {
    auto error = std::move(profile.error());
    // Errors inside the profile name their own place.
    if (error.missing && !named.place.empty()) {
      error.message = fmt::format("{}: 'profile': {}", named.place, error.message);
    }
    return bad_configuration(error);
  }
  return Choice{.profile = std::move(*profile), .evidence = {std::move(named.evidence)}};
}

Hardware hardware_of(const Snapshot& snapshot) {
  return {.chassis_asset_tag = dmi_text(snapshot, snapshot.identity->chassis_asset_tag),
          .dmi_vendor = dmi_text(snapshot, snapshot.identity->dmi_vendor),
          .dmi_product = dmi_text(snapshot, snapshot.identity->dmi_product),
          .gpu_pci_ids = gpu_ids(snapshot),
          .infiniband_hcas = count_hcas(snapshot),
          .nvme_disks = count_on_bus(snapshot, PciKind::nvme),
          .nvswitches = count_on_bus(snapshot, PciKind::nvswitch),
          .cores = known<int>(snapshot.cpu->cores),
          .memory_bytes = known<double>(snapshot.memory->total_bytes),
          .instance_size = known<std::string>(snapshot.identity->instance_size)};
}

std::vector<std::string> with_gaps(std::vector<std::string> evidence, const Snapshot& snapshot) {
  constexpr ProbeSet kAsked =
      Probe::identity | Probe::cpu | Probe::memory | Probe::pci | Probe::infiniband;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    const bool failed = section.status == Status::timeout || section.status == Status::error;
    if (!failed || !kAsked.contains(probe)) return;
    evidence.push_back(fmt::format("the {} probe failed: {}", to_string(probe), section.reason));
  });
  return evidence;
}

Attempt<Choice> recognised_profile(const ProfileSources& sources,
                                   const Result<Candidates>& candidates, const Snapshot& snapshot,
                                   ReadProfile read) {
  if (!candidates) return bad_configuration(candidates.error());
  const auto hardware = hardware_of(snapshot);
  auto recognised = choose(*candidates, hardware);
  auto profile = read(sources, recognised.profile);
  if (!profile) return bad_configuration(profile.error());
  return Choice{.profile = std::move(*profile),
                .evidence = with_gaps(std::move(recognised.evidence), snapshot),
                .bare = is_bare(hardware)};
}

}  // namespace muster
