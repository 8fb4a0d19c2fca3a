// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/recognise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/profile/candidates.hpp"

namespace muster {
namespace {

constexpr std::string_view kAzureAssetTag = "7783-7084-3265-9085-8269-3286-77";
constexpr double kCpuNodeTolerance =
    0.1;                                // of cores and memory, where they are all there is to tell
constexpr double kSameDistance = 0.02;  // MemTotal differs by less between like nodes

// GPUs that a cluster computes on: a server's own display adapter has an id on the bus as well.
std::map<std::string, int> compute_gpus(const Hardware& hardware) {
  std::map<std::string, int> found;
  for (const auto& [id, count] : hardware.gpu_pci_ids) {
    if (id.starts_with("10de:") || id.starts_with("1002:")) found[id] = count;
  }
  return found;
}

double relative(double a, double b) {
  const double larger = std::max(std::abs(a), std::abs(b));
  return larger > 0 ? std::abs(a - b) / larger : 0;
}

struct Node {
  const Hardware& hardware;
  std::map<std::string, int> gpus;

  [[nodiscard]] int gpu_count() const {
    int count = 0;
    for (const auto& [id, each] : gpus) count += each;
    return count;
  }

  [[nodiscard]] bool is_of_vendor(const Recognise& wants) const {
    if (wants.chassis_asset_tag && *wants.chassis_asset_tag != hardware.chassis_asset_tag) {
      return false;
    }
    return !wants.dmi_vendor || matches_glob(*wants.dmi_vendor, hardware.dmi_vendor);
  }

  // A node that shows no GPU is no GPU node to us, and then all else must fit well.
  [[nodiscard]] bool has_its_gpus(const Recognise& wants) const {
    if (!wants.gpu_pci_ids.empty()) {
      return std::ranges::any_of(wants.gpu_pci_ids,
                                 [&](const std::string& id) { return gpus.contains(id); });
    }
    const bool cores_fit =
        !wants.cores || relative(*wants.cores, hardware.cores) <= kCpuNodeTolerance;
    const bool memory_fits =
        !wants.memory || relative(wants.memory->value, hardware.memory_bytes) <= kCpuNodeTolerance;
    return gpus.empty() && cores_fit && memory_fits;
  }

  [[nodiscard]] bool agrees_on_infiniband(const Recognise& wants) const {
    return !wants.infiniband || *wants.infiniband == (hardware.infiniband_hcas > 0);
  }

  // How far the counts are from those of a healthy node of this kind.
  [[nodiscard]] double distance(const Recognise& wants) const {
    double sum = 0;
    if (wants.gpus) sum += relative(*wants.gpus, gpu_count());
    if (wants.hcas) sum += relative(*wants.hcas, hardware.infiniband_hcas);
    if (wants.cores) sum += relative(*wants.cores, hardware.cores);
    if (wants.memory) sum += relative(wants.memory->value, hardware.memory_bytes);
    return sum;
  }
};

std::string names_of(const std::vector<const Candidate*>& candidates) {
  std::vector<std::string> names;
  for (const auto* each : candidates) names.push_back(each->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> describe(const Node& node) {
  std::vector<std::string> evidence;
  const Hardware& hardware = node.hardware;
  if (hardware.chassis_asset_tag == kAzureAssetTag) {
    evidence.emplace_back("chassis asset tag says Azure");
  } else if (!hardware.dmi_vendor.empty()) {
    evidence.push_back(fmt::format("made by {}", printable(hardware.dmi_vendor, 60)));
  }
  for (const auto& [id, count] : node.gpus) {
    evidence.push_back(fmt::format("{} x {}", count, printable(id, 20)));
  }
  if (node.gpus.empty()) evidence.emplace_back("no GPU on the bus");
  evidence.push_back(hardware.infiniband_hcas > 0
                         ? fmt::format("{} InfiniBand HCAs", hardware.infiniband_hcas)
                         : "no InfiniBand HCA");
  evidence.push_back(fmt::format(
      "{} cores, {}", hardware.cores, to_string(Bytes{std::round(hardware.memory_bytes)})));
  return evidence;
}

// Those that the node's lasting features allow.
std::vector<const Candidate*> matching(const Node& node,
                                       const std::vector<Candidate>& candidates,
                                       std::vector<std::string>& evidence) {
  std::vector<const Candidate*> fitting;
  for (const auto& each : candidates) {
    if (node.is_of_vendor(each.wants) && node.has_its_gpus(each.wants)) fitting.push_back(&each);
  }
  std::vector<const Candidate*> agreeing;
  for (const auto* each : fitting) {
    if (node.agrees_on_infiniband(each->wants)) agreeing.push_back(each);
  }
  if (!agreeing.empty()) return agreeing;

  // GPUs that only come with InfiniBand: the HCAs are missing, and the checks shall say so.
  for (const auto* each : fitting) {
    const bool lost = each->wants.infiniband.value_or(false) && !each->wants.gpu_pci_ids.empty();
    if (lost) agreeing.push_back(each);
  }
  if (!agreeing.empty()) {
    evidence.emplace_back("every profile with these GPUs has InfiniBand: the HCAs are missing");
  }
  return agreeing;
}

}  // namespace

Recognised choose(const std::vector<Candidate>& candidates, const Hardware& hardware) {
  const Node node{hardware, compute_gpus(hardware)};
  Recognised result{.profile = "generic", .evidence = describe(node)};

  auto fitting = matching(node, candidates, result.evidence);
  if (fitting.empty()) {
    result.evidence.emplace_back("no profile matches");
    return result;
  }
  const auto distance = [&](const Candidate* each) { return node.distance(each->wants); };
  const double least = distance(*std::ranges::min_element(fitting, {}, distance));
  const std::string all = names_of(fitting);
  const bool several = fitting.size() > 1;
  std::erase_if(fitting, [&](const auto* each) { return distance(each) > least + kSameDistance; });
  const auto is_own = [](const Candidate* each) { return each->of_site; };
  if (std::ranges::any_of(fitting, is_own)) {
    std::erase_if(fitting, [&](const auto* each) { return !is_own(each); });
  }
  if (fitting.size() > 1) {
    result.evidence.push_back(
        fmt::format("ambiguous: {} match equally well; name one of them", names_of(fitting)));
    return result;
  }
  result.profile = fitting.front()->name;
  if (several && fitting.front()->of_site) {
    result.evidence.push_back(fmt::format("the site's own profile among {}", all));
  } else if (several) {
    result.evidence.push_back(fmt::format("counts are nearest to it among {}", all));
  }
  return result;
}

Result<Recognised> recognise(const ProfileSources& sources, const Hardware& hardware) {
  const auto candidates = read_candidates(sources);
  if (!candidates) return tl::unexpected(candidates.error());
  return choose(*candidates, hardware);
}

}  // namespace muster
