// SPDX-License-Identifier: Apache-2.0
// What NVML says of the GPUs that the bus has, or has no more. A GPU that NVML reports as lost is
// gpu.present's finding; what the bus says of the same GPU is left to it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "checks/shared/gpus.hpp"
#include "checks/shared/pci_bus.hpp"

namespace muster::checks::pci {

class NvmlView {
 public:
  NvmlView(const Snapshot& snapshot, const Profile& profile) : snapshot_(snapshot) {
    // A driver that cannot be used is gpu.driver's finding.
    usable_ = snapshot.nvml.ok() && snapshot.nvml->trouble.empty();
    if (!usable_) return;
    const std::size_t wanted = gpu::expected_count(profile);
    expected_ = wanted > 0;
    for (const Gpu& gpu : snapshot.nvml->gpus) {
      if (gpu.address.empty()) {
        refused_.push_back(&gpu);
      } else if (device_at(snapshot, gpu.address) == nullptr) {
        gone_.push_back(&gpu);
      }
    }
    unlisted_ = devices_of(snapshot, PciKind::gpu);
    missing_ = wanted - std::min(wanted, unlisted_.size());
    std::erase_if(unlisted_, [&](const PciDevice* device) { return !is_ours(*device); });
    const std::size_t without_word = unlisted_.size() + missing_ - std::min(missing_, gone_.size());
    refused_explain_ = !refused_.empty() && refused_.size() >= without_word;
  }

  // For a finding that the GPU at this address is lost by the kernel's log, missing from the bus or
  // silent there: leaves it to gpu.present where NVML, too, finds that GPU lost or hanging.
  void leave_to_gpu_present(const std::string& address, Finding& finding) const {
    if (!usable_) return;
    const Gpu* gpu = gpu_at(snapshot_, address);
    if (gpu != nullptr) {
      leave({gpu}, finding);
    } else if (may_be_refused(address)) {
      leave(refused_, finding);
    }
  }

  // The same for a finding about all GPUs that the bus lacks, whichever they are.
  void leave_to_gpu_present(Finding& finding) const {
    const auto lost = static_cast<std::size_t>(std::ranges::count_if(gone_, is_lost));
    const std::size_t unlisted = missing_ - std::min(missing_, gone_.size());
    if (lost + (refused_explain_ ? unlisted : 0) < missing_) return;
    leave(gone_, finding);
    if (unlisted > 0) leave(refused_, finding);
  }

  // GPUs that answer on the bus and that NVML does not list, unless they are those that it refused.
  [[nodiscard]] std::vector<const PciDevice*> unlisted() const {
    auto devices = refused_explain_ ? std::vector<const PciDevice*>() : unlisted_;
    std::erase_if(devices, [](const PciDevice* device) { return silent(*device); });
    return devices;
  }

  [[nodiscard]] std::size_t refused() const { return refused_.size(); }

  // GPUs that answer NVML and are not on the bus; empty where the bus lacks one for certain.
  [[nodiscard]] std::vector<const Gpu*> not_on_bus() const {
    auto gpus = missing_ > 0 ? std::vector<const Gpu*>() : gone_;
    std::erase_if(gpus, is_lost);
    return gpus;
  }

  [[nodiscard]] bool expected() const { return expected_; }

 private:
  static bool is_lost(const Gpu* gpu) { return !gpu::answers(*gpu); }

  static void leave(const std::vector<const Gpu*>& gpus, Finding& finding) {
    for (const Gpu* gpu : gpus) {
      if (is_lost(gpu)) finding.seen_by.push_back({"gpu.present", gpu::name_of(*gpu)});
    }
  }

  // Whether an address that NVML does not tell of may be that of a GPU that it refused. Those must
  // explain all such GPUs on the bus; for an address that is not there, one more of them is needed.
  [[nodiscard]] bool may_be_refused(const std::string& address) const {
    const bool on_bus = device_at(snapshot_, address) != nullptr;
    return refused_explain_ && (on_bus || refused_.size() > unlisted_.size());
  }

  // A machine of no particular kind may have a GPU that is another driver's.
  [[nodiscard]] bool is_ours(const PciDevice& device) const {
    constexpr unsigned kNvidia = 0x10de;
    return device.vendor == kNvidia && (expected_ || device.driver == "nvidia") &&
           gpu_at(snapshot_, device.address) == nullptr;
  }

  const Snapshot& snapshot_;
  bool usable_ = false;
  bool expected_ = false;
  std::vector<const Gpu*> refused_;         // so early that NVML did not tell their address
  std::vector<const Gpu*> gone_;            // not on the bus
  std::vector<const PciDevice*> unlisted_;  // by NVML
  std::size_t missing_ = 0;                 // how many the bus lacks
  bool refused_explain_ = false;            // they explain all GPUs that NVML does not tell of
};

}  // namespace muster::checks::pci
