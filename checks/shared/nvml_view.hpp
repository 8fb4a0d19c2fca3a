// SPDX-License-Identifier: Apache-2.0
// Compares the GPUs of the bus with NVML's. gpu.present reports a GPU that NVML reports as lost,
// and findings of the bus about the same GPU refer to it.
#pragma once

#include "checks/shared/gpus.hpp"
#include "checks/shared/pci_bus.hpp"

namespace muster::checks::pci {

class NvmlView {
 public:
  NvmlView(const Snapshot& snapshot, const Profile& profile) : snapshot_(snapshot) {
    runs_gpus_ = gpu::driver_is_bound(snapshot) || !snapshot.nvml->gpus.empty();
    // gpu.driver reports an unusable driver.
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
    const std::size_t unexplained = unlisted_.size() + missing_ - std::min(missing_, gone_.size());
    refused_explain_ = !refused_.empty() && refused_.size() >= unexplained;
  }

  // For a finding that the GPU at this address is lost, missing from the bus or silent: refers it
  // to gpu.present if NVML also reports that GPU as lost or hanging.
  void leave_to_gpu_present(const std::string& address, Finding& finding) const {
    if (!usable_) return;
    const Gpu* gpu = gpu_at(snapshot_, address);
    if (gpu != nullptr) {
      refer({gpu}, finding);
    } else if (may_be_refused(address)) {
      refer(refused_, finding);
    }
  }

  // The same for a finding about all GPUs missing from the bus.
  void leave_to_gpu_present(Finding& finding) const {
    const auto lost = static_cast<std::size_t>(std::ranges::count_if(gone_, is_lost));
    const std::size_t unlisted = missing_ - std::min(missing_, gone_.size());
    if (lost + (refused_explain_ ? unlisted : 0) < missing_) return;
    refer(gone_, finding);
    if (unlisted > 0) refer(refused_, finding);
  }

  // GPUs that respond on the bus but that NVML neither listed nor refused.
  [[nodiscard]] std::vector<const PciDevice*> unlisted() const {
    auto devices = refused_explain_ ? std::vector<const PciDevice*>() : unlisted_;
    std::erase_if(devices, [](const PciDevice* device) { return is_silent(*device); });
    return devices;
  }

  [[nodiscard]] std::size_t refused() const { return refused_.size(); }

  // GPUs that respond to NVML but are not on the bus; empty if GPUs are missing from the bus.
  [[nodiscard]] std::vector<const Gpu*> not_on_bus() const {
    auto gpus = missing_ > 0 ? std::vector<const Gpu*>() : gone_;
    std::erase_if(gpus, is_lost);
    return gpus;
  }

  [[nodiscard]] bool expected() const { return expected_; }

  // True if the driver is bound to a GPU, or lists one.
  [[nodiscard]] bool runs_gpus() const { return runs_gpus_; }

 private:
  static bool is_lost(const Gpu* gpu) { return !gpu::answers(*gpu); }

  static void refer(const std::vector<const Gpu*>& gpus, Finding& finding) {
    for (const Gpu* gpu : gpus) {
      if (is_lost(gpu)) finding.seen_by.push_back({"gpu.present", gpu::name_of(*gpu)});
    }
  }

  // True if the address may belong to a GPU that NVML refused: the refused GPUs must explain all
  // unlisted ones on the bus, and one more for an address that is not on the bus.
  [[nodiscard]] bool may_be_refused(const std::string& address) const {
    const bool on_bus = device_at(snapshot_, address) != nullptr;
    return refused_explain_ && (on_bus || refused_.size() > unlisted_.size());
  }

  // Without an expected number, a GPU may belong to another driver, but not to none.
  [[nodiscard]] bool is_ours(const PciDevice& device) const {
    const bool unbound = runs_gpus_ && device.driver.empty();
    return is_nvidia_gpu(device) && (expected_ || unbound || device.driver == "nvidia") &&
           gpu_at(snapshot_, device.address) == nullptr;
  }

  const Snapshot& snapshot_;
  bool usable_ = false;
  bool expected_ = false;
  bool runs_gpus_ = false;
  std::vector<const Gpu*> refused_;         // before NVML reported their address
  std::vector<const Gpu*> gone_;            // not on the bus
  std::vector<const PciDevice*> unlisted_;  // by NVML
  std::size_t missing_ = 0;                 // from the bus
  bool refused_explain_ = false;            // refused GPUs explain all that NVML does not list
};

}  // namespace muster::checks::pci
