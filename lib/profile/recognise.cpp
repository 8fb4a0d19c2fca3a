// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/profile/choice.hpp"
#include "lib/profile/load.hpp"

namespace muster {
namespace {

constexpr std::string_view kAzureAssetTag = "7783-7084-3265-9085-8269-3286-77";
constexpr double kCpuNodeTolerance = 0.1;    // of cores and memory, for nodes without GPUs
constexpr double kSameNodeTolerance = 0.05;  // of memory, for nodes that lost their GPUs
constexpr double kSameDistance = 0.02;       // MemTotal of equal nodes differs by less

using Chosen = std::vector<const Candidate*>;

// Whether a node matches a profile, from best to worst.
enum class Fit { yes, unknown, no };

Fit worse(Fit a, Fit b) { return std::max(a, b); }

template <class T, class Test>
Fit fit(const std::optional<T>& seen, const Test& test) {
  if (!seen) return Fit::unknown;
  return test(*seen) ? Fit::yes : Fit::no;
}

double relative(double a, double b) {
  const double larger = std::max(std::abs(a), std::abs(b));
  return larger > 0 ? std::abs(a - b) / larger : 0;
}

// The GPUs of vendors that make accelerators; a server's display adapter is also on the bus.
std::optional<GpuIds> compute_gpus(const Hardware& hardware) {
  if (!hardware.gpu_pci_ids) return std::nullopt;
  GpuIds found;
  for (const auto& [id, count] : *hardware.gpu_pci_ids) {
    if (id.starts_with("10de:") || id.starts_with("1002:")) found[id] = count;
  }
  return found;
}

struct Node {
  const Hardware& hardware;
  std::optional<GpuIds> gpus;
  bool is_of_unknown_size;  // no profile has its cloud's name

  [[nodiscard]] bool has_no_gpus() const { return gpus && gpus->empty(); }

  [[nodiscard]] std::optional<int> gpu_count() const {
    if (!gpus) return std::nullopt;
    int count = 0;
    for (const auto& [id, each] : *gpus) count += each;
    return count;
  }

  [[nodiscard]] Fit is_of_vendor(const Recognise& wants) const {
    Fit result = Fit::yes;
    if (wants.chassis_asset_tag) {
      result = fit(hardware.chassis_asset_tag,
                   [&](const std::string& tag) { return tag == *wants.chassis_asset_tag; });
    }
    for (const auto& [wanted, seen] : {std::pair(&wants.dmi_vendor, &hardware.dmi_vendor),
                                       std::pair(&wants.dmi_product, &hardware.dmi_product)}) {
      if (!*wanted) continue;
      const std::string& glob = **wanted;
      result = worse(result,
                     fit(*seen, [&](const std::string& text) { return matches_glob(glob, text); }));
    }
    return result;
  }

  // If the profile has no GPUs, the node must have none, and everything else must match.
  [[nodiscard]] Fit has_its_gpus(const Recognise& wants) const {
    if (wants.gpu_pci_ids.empty()) {
      return worse(fit(gpus, [](const GpuIds& seen) { return seen.empty(); }),
                   is_of_size(wants, kCpuNodeTolerance));
    }
    return fit(gpus, [&](const GpuIds& seen) {
      return std::ranges::any_of(wants.gpu_pci_ids,
                                 [&](const std::string& id) { return seen.contains(id); });
    });
  }

  [[nodiscard]] Fit is_of_size(const Recognise& wants, double tolerance) const {
    const auto is_near = [&](double wanted) {
      return [=](double seen) { return relative(wanted, seen) <= tolerance; };
    };
    Fit result = Fit::yes;
    if (wants.cores) result = fit(hardware.cores, is_near(*wants.cores));
    if (!wants.memory) return result;
    return worse(result, fit(hardware.memory_bytes, is_near(wants.memory->value)));
  }

  [[nodiscard]] Fit agrees_on_infiniband(const Recognise& wants) const {
    if (!wants.infiniband) return Fit::yes;
    return fit(hardware.infiniband_hcas, [&](int hcas) { return *wants.infiniband == (hcas > 0); });
  }

  // Many machines have the same cores and memory, so require hardware that only GPU nodes have.
  [[nodiscard]] bool shows_what_comes_with_gpus(const Recognise& wants) const {
    const bool has_hcas = wants.infiniband.value_or(false) && hardware.infiniband_hcas > 0;
    return has_hcas || hardware.nvswitches > 0 || wants.dmi_product;
  }

  // Whether everything but the GPUs matches, and the profile is specific enough to be believed.
  [[nodiscard]] bool is_all_but_gpus(const Recognise& wants) const {
    const bool says_enough = (wants.chassis_asset_tag || wants.dmi_vendor) && wants.cores &&
                             wants.memory && !wants.gpu_pci_ids.empty();
    if (!says_enough || is_of_vendor(wants) != Fit::yes) return false;
    if (!shows_what_comes_with_gpus(wants)) return false;
    if (agrees_on_infiniband(wants) != Fit::yes) return false;
    const bool any_number = wants.infiniband.value_or(false) && !wants.hcas;
    const bool hcas_fit = any_number || hardware.infiniband_hcas == wants.hcas.value_or(0);
    return hcas_fit && hardware.cores == *wants.cores &&
           is_of_size(wants, kSameNodeTolerance) == Fit::yes;
  }

  // The distance of the known counts from those of a healthy node.
  [[nodiscard]] double distance(const Recognise& wants) const {
    const auto term = [](const auto& wanted, const auto& seen) {
      return wanted && seen ? relative(*wanted, *seen) : 0;
    };
    return term(wants.gpus, gpu_count()) + term(wants.hcas, hardware.infiniband_hcas) +
           term(wants.cores, hardware.cores) +
           (wants.memory ? term(Limit<double>(wants.memory->value), hardware.memory_bytes) : 0);
  }
};

std::string names_of(const Chosen& candidates) {
  std::vector<std::string> names;
  for (const auto* each : candidates) names.push_back(each->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void describe_maker(const Hardware& hardware, std::vector<std::string>& evidence) {
  if (hardware.chassis_asset_tag == kAzureAssetTag) {
    evidence.emplace_back("chassis asset tag says Azure");
    return;
  }
  if (!hardware.chassis_asset_tag) evidence.emplace_back("chassis asset tag unknown");
  if (!hardware.dmi_vendor) evidence.emplace_back("maker unknown");
  if (hardware.dmi_vendor && !hardware.dmi_vendor->empty()) {
    evidence.push_back(fmt::format("made by {}", printable(*hardware.dmi_vendor, 60)));
  }
}

void describe_devices(const Node& node, std::vector<std::string>& evidence) {
  if (!node.gpus) {
    evidence.emplace_back("GPUs unknown");
  } else if (node.gpus->empty()) {
    evidence.emplace_back("no GPU on the bus");
  } else {
    for (const auto& [id, count] : *node.gpus) {
      evidence.push_back(fmt::format("{} x {}", count, printable(id, 20)));
    }
  }
  const auto& hcas = node.hardware.infiniband_hcas;
  if (!hcas) {
    evidence.emplace_back("InfiniBand HCAs unknown");
  } else {
    evidence.push_back(*hcas > 0 ? fmt::format("{} InfiniBand HCAs", *hcas) : "no InfiniBand HCA");
  }
}

std::string size_of(const Hardware& hardware) {
  return fmt::format("{}, {}",
                     hardware.cores ? fmt::format("{} cores", *hardware.cores) : "cores unknown",
                     hardware.memory_bytes ? to_string(Bytes{std::round(*hardware.memory_bytes)})
                                           : "memory unknown");
}

std::vector<std::string> describe(const Node& node) {
  std::vector<std::string> evidence;
  if (const auto& size = node.hardware.instance_size) {
    evidence.push_back(fmt::format("its cloud calls it {}", printable(*size, 60)));
  }
  describe_maker(node.hardware, evidence);
  describe_devices(node, evidence);
  evidence.push_back(size_of(node.hardware));
  return evidence;
}

std::string possible_text(const Chosen& possible, bool others_fit) {
  constexpr std::size_t kMaxNames = 6;
  const auto which = possible.size() <= kMaxNames ? names_of(possible)
                                                  : fmt::format("{} profiles", possible.size());
  return fmt::format("too little is known to tell whether it {} {}",
                     others_fit ? "is rather" : "is", which);
}

// The candidates that match by hardware that rarely breaks.
Chosen matching(const Node& node, const std::vector<Candidate>& candidates,
                std::vector<std::string>& evidence) {
  Chosen fitting;
  Chosen possible;      // the deciding facts are unknown
  Chosen without_hcas;  // match, except that the node has no InfiniBand HCAs
  Chosen without_gpus;  // have GPUs and match in all else
  const bool may_lack_gpus = node.has_no_gpus() && !node.is_of_unknown_size;
  for (const auto& each : candidates) {
    const auto& wants = each.wants;
    const Fit machine = worse(node.is_of_vendor(wants), node.has_its_gpus(wants));
    const Fit infiniband = node.agrees_on_infiniband(wants);
    const Fit all = worse(machine, infiniband);
    if (all == Fit::yes) fitting.push_back(&each);
    if (all == Fit::unknown) possible.push_back(&each);
    const bool may_lack_hcas = wants.infiniband.value_or(false) && !wants.gpu_pci_ids.empty();
    if (may_lack_hcas && machine == Fit::yes && infiniband == Fit::no) {
      without_hcas.push_back(&each);
    }
    if (may_lack_gpus && node.is_all_but_gpus(wants)) without_gpus.push_back(&each);
  }
  if (!possible.empty()) evidence.push_back(possible_text(possible, !fitting.empty()));
  if (!fitting.empty() || !possible.empty()) return fitting;
  // The checks then report the missing HCAs.
  if (!without_hcas.empty()) {
    evidence.emplace_back("every profile with these GPUs has InfiniBand: the HCAs are missing");
    return without_hcas;
  }
  evidence.emplace_back(without_gpus.empty() ? "no profile matches" : "its GPUs are missing");
  return without_gpus;
}

// Keeps the nearest by counts, and among equally near ones the site's.
void keep_nearest(const Node& node, Chosen& fitting) {
  const auto distance = [&](const Candidate* each) { return node.distance(each->wants); };
  const double least = distance(*std::ranges::min_element(fitting, {}, distance));
  std::erase_if(fitting, [&](const auto* each) { return distance(each) > least + kSameDistance; });
  const auto is_own = [](const Candidate* each) { return each->of_site; };
  if (!std::ranges::any_of(fitting, is_own)) return;
  std::erase_if(fitting, [&](const auto* each) { return !is_own(each); });
}

// Local disks fail, so they only decide between profiles that are equal otherwise.
void keep_those_with_its_disks(const Node& node, Chosen& fitting,
                               std::vector<std::string>& evidence) {
  const auto& disks = node.hardware.nvme_disks;
  const auto says = [](const Candidate* each) { return each->wants.nvme.has_value(); };
  if (fitting.size() < 2 || !disks || !std::ranges::all_of(fitting, says)) return;
  Chosen others = fitting;
  std::erase_if(others, [&](const Candidate* each) { return each->wants.nvme == disks; });
  if (others.empty() || others.size() == fitting.size()) return;
  std::erase_if(fitting, [&](const Candidate* each) { return each->wants.nvme != disks; });
  evidence.push_back(fmt::format("NVMe disks: {}, unlike {}", *disks, names_of(others)));
}

Recognised choose_by_hardware(const std::vector<Candidate>& candidates, const Node& node) {
  Recognised result{.profile = "generic", .evidence = describe(node)};
  auto fitting = matching(node, candidates, result.evidence);
  if (fitting.empty()) return result;
  const std::string all = names_of(fitting);
  const bool several = fitting.size() > 1;
  keep_nearest(node, fitting);
  keep_those_with_its_disks(node, fitting, result.evidence);
  const Candidate& first = *fitting.front();
  if (fitting.size() > 1) {
    // Any of them reports the missing GPUs; `generic` would not.
    const auto has_gpus = [](const Candidate* each) { return !each->wants.gpu_pci_ids.empty(); };
    const bool lacks_gpus = node.has_no_gpus() && std::ranges::all_of(fitting, has_gpus);
    if (lacks_gpus) result.profile = first.name;
    result.evidence.push_back(
        fmt::format("ambiguous: {} match equally well; {}", names_of(fitting),
                    lacks_gpus ? fmt::format("judged as {}", first.name) : "name one of them"));
    return result;
  }
  result.profile = first.name;
  if (several) {
    const auto* why = first.of_site ? "the site's own profile" : "counts are nearest to it";
    result.evidence.push_back(fmt::format("{} among {}", why, all));
  }
  return result;
}

const Candidate* find_candidate(const Candidates& candidates, std::string_view name) {
  const auto found = std::ranges::find(candidates.profiles, name, &Candidate::name);
  return found == candidates.profiles.end() ? nullptr : &*found;
}

// Whether `chosen` is a profile of the site for nodes with the same GPUs as `named`.
bool is_sites_own_for(const Candidates& candidates, std::string_view chosen,
                      std::string_view named) {
  const Candidate* own = find_candidate(candidates, chosen);
  const Candidate* other = find_candidate(candidates, named);
  return own != nullptr && other != nullptr && own->of_site &&
         other->wants.gpu_pci_ids == own->wants.gpu_pci_ids;
}

}  // namespace

bool is_bare(const Hardware& hardware) {
  const auto gpus = compute_gpus(hardware);
  return gpus && gpus->empty() && hardware.infiniband_hcas == 0;
}

Recognised choose(const Candidates& candidates, const Hardware& hardware) {
  const auto& size = hardware.instance_size;
  const auto named = candidates.by_name.find(plain_profile_name(size.value_or("")));
  const bool is_named = size && named != candidates.by_name.end();
  const Node node{hardware, compute_gpus(hardware), size && !is_named};
  auto result = choose_by_hardware(candidates.profiles, node);
  if (is_named && result.profile != named->second &&
      !is_sites_own_for(candidates, result.profile, named->second)) {
    // The evidence for the choice by hardware does not apply.
    result = Recognised{.profile = named->second, .evidence = describe(node)};
  }
  const auto& remarks = candidates.remarks;
  result.evidence.insert(result.evidence.end(), remarks.begin(), remarks.end());
  return result;
}

}  // namespace muster
