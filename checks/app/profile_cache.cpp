// SPDX-License-Identifier: Apache-2.0
#include "checks/app/profile_cache.hpp"

#include <fmt/format.h>

#include <utility>

namespace muster::app {
namespace {

// Two snapshots with the same key are the same to recognition, and to what it says about itself.
std::string key_of(const Snapshot& snapshot) {
  const auto hardware = hardware_of(snapshot);
  auto key = fmt::format("{}\n{}\n{}\n{}\n{}",
                         hardware.chassis_asset_tag,
                         hardware.dmi_vendor,
                         hardware.infiniband_hcas,
                         hardware.cores,
                         hardware.memory_bytes);
  for (const auto& [id, count] : hardware.gpu_pci_ids) key += fmt::format("\n{}={}", id, count);
  for_each_section(snapshot, [&](Probe /*probe*/, const auto& section) {
    if (!section.ok()) key += fmt::format("\n{}: {}", to_string(section.status), section.reason);
  });
  return key;
}

}  // namespace

ProfileCache::ProfileCache(ProfileSources sources, std::optional<Choice> named)
    : sources_(std::move(sources)) {
  if (named) named_ = std::make_shared<const Choice>(std::move(*named));
}

Attempt<std::shared_ptr<const Choice>> ProfileCache::choose(const Snapshot& snapshot) {
  constexpr std::size_t kMost = 1024;  // kinds of hardware that are remembered
  if (named_ != nullptr) return named_;
  const auto key = key_of(snapshot);
  const std::lock_guard lock(guard_);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  auto recognised = recognised_profile(sources_, snapshot);
  const auto choice = std::move(recognised).map([](Choice&& each) {
    return std::shared_ptr<const Choice>(std::make_shared<Choice>(std::move(each)));
  });
  if (known_.size() < kMost) known_.emplace(key, choice);
  return choice;
}

}  // namespace muster::app
