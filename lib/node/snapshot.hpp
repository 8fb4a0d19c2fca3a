// SPDX-License-Identifier: Apache-2.0
// Everything observed on one node at one time. Checks read nothing else about the node.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/node/cpu.hpp"
#include "lib/node/disks.hpp"
#include "lib/node/earlier.hpp"
#include "lib/node/environment.hpp"
#include "lib/node/gpu.hpp"
#include "lib/node/ib.hpp"
#include "lib/node/identity.hpp"
#include "lib/node/kernel.hpp"
#include "lib/node/kernel_log.hpp"
#include "lib/node/memory.hpp"
#include "lib/node/mounts.hpp"
#include "lib/node/network.hpp"
#include "lib/node/pci.hpp"
#include "lib/node/processes.hpp"
#include "lib/node/section.hpp"
#include "lib/node/services.hpp"
#include "lib/node/topology.hpp"
#include "lib/node/xid.hpp"

namespace muster {

inline constexpr std::string_view kSnapshotSchema = "muster.snapshot/1";

struct Snapshot {
  std::string taken;  // wall time, RFC 3339 in UTC; a label, never judged
  Section<Identity> identity;
  Section<Cpu> cpu;
  Section<Memory> memory;
  Section<Mounts> mounts;
  Section<Disks> disks;
  Section<Processes> processes;
  Section<Kernel> kernel;
  Section<KernelLog> kernel_log;
  Xids xids;  // from the records of the kernel log; not in JSON
  Section<Services> services;
  Section<Network> network;
  Section<Pci> pci;
  Section<Infiniband> infiniband;
  Section<Verbs> verbs;
  Section<Topology> topology;
  Section<Environment> environment;
  Section<Nvml> nvml;
  Earlier earlier;

  bool operator==(const Snapshot&) const = default;
};

// The probes, in the order of reports. Each fills the section with its name.
enum class Probe {
  identity,
  cpu,
  memory,
  mounts,
  disks,
  processes,
  kernel,
  kernel_log,
  services,
  network,
  pci,
  infiniband,
  verbs,
  topology,
  environment,
  nvml,
};

inline constexpr std::array kProbeNames{
    std::string_view("identity"), std::string_view("cpu"),        std::string_view("memory"),
    std::string_view("mounts"),   std::string_view("disks"),      std::string_view("processes"),
    std::string_view("kernel"),   std::string_view("kernel_log"), std::string_view("services"),
    std::string_view("network"),  std::string_view("pci"),        std::string_view("infiniband"),
    std::string_view("verbs"),    std::string_view("topology"),   std::string_view("environment"),
    std::string_view("nvml")};

[[nodiscard]] constexpr std::string_view to_string(Probe probe) {
  return kProbeNames.at(static_cast<std::size_t>(probe));
}

// The probes that a check needs or that a run starts.
class ProbeSet {
 public:
  constexpr ProbeSet() = default;

  // NOLINTNEXTLINE(google-explicit-constructor): one probe is a set of one.
  constexpr ProbeSet(Probe probe) : bits_(1U << static_cast<unsigned>(probe)) {}

  [[nodiscard]] static constexpr ProbeSet all() {
    ProbeSet set;
    set.bits_ = (1U << kProbeNames.size()) - 1U;
    return set;
  }

  [[nodiscard]] constexpr bool contains(Probe probe) const {
    return (bits_ & (1U << static_cast<unsigned>(probe))) != 0;
  }

  [[nodiscard]] constexpr ProbeSet operator|(ProbeSet other) const {
    ProbeSet set;
    set.bits_ = bits_ | other.bits_;
    return set;
  }

  bool operator==(const ProbeSet&) const = default;

 private:
  unsigned bits_ = 0;
};

[[nodiscard]] constexpr ProbeSet operator|(Probe left, Probe right) {
  return ProbeSet(left) | ProbeSet(right);
}

// Calls `visit(Probe, section)` for all sections of a snapshot, in order.
template <class S, class Visitor>
void for_each_section(S& snapshot, Visitor&& visit) {
  visit(Probe::identity, snapshot.identity);
  visit(Probe::cpu, snapshot.cpu);
  visit(Probe::memory, snapshot.memory);
  visit(Probe::mounts, snapshot.mounts);
  visit(Probe::disks, snapshot.disks);
  visit(Probe::processes, snapshot.processes);
  visit(Probe::kernel, snapshot.kernel);
  visit(Probe::kernel_log, snapshot.kernel_log);
  visit(Probe::services, snapshot.services);
  visit(Probe::network, snapshot.network);
  visit(Probe::pci, snapshot.pci);
  visit(Probe::infiniband, snapshot.infiniband);
  visit(Probe::verbs, snapshot.verbs);
  visit(Probe::topology, snapshot.topology);
  visit(Probe::environment, snapshot.environment);
  visit(Probe::nvml, snapshot.nvml);
}

// NVML's GPU at a PCI address; null for none.
[[nodiscard]] inline const Gpu* gpu_at(const Snapshot& snapshot, std::string_view address) {
  if (address.empty()) return nullptr;  // GPUs that NVML refuses have no address
  const auto& gpus = snapshot.nvml->gpus;
  const auto gpu = std::ranges::find(gpus, address, &Gpu::address);
  return gpu == gpus.end() ? nullptr : &*gpu;
}

// The device at a PCI address; null if the bus does not list it.
[[nodiscard]] inline const PciDevice* device_at(const Snapshot& snapshot,
                                                std::string_view address) {
  const auto& all = snapshot.pci->devices;
  const auto found = std::ranges::find(all, address, &PciDevice::address);
  return found == all.end() ? nullptr : &*found;
}

// The devices of a kind without the host's virtual functions: their physical devices are judged,
// and they themselves work in the container or guest they were given to.
[[nodiscard]] inline std::vector<const PciDevice*> devices_of(const Snapshot& snapshot,
                                                              PciKind kind) {
  std::vector<const PciDevice*> found;
  for (const auto& device : snapshot.pci->devices) {
    if (device.kind == kind && !device.virtual_function) found.push_back(&device);
  }
  return found;
}

// A snapshot as JSON, and back. Unknown keys are ignored, so that snapshots of newer versions can
// be judged. Errors name the place.
[[nodiscard]] std::string to_json(const Snapshot& snapshot);
[[nodiscard]] Result<Snapshot> parse_snapshot(std::string_view text);

// A section as JSON, for the pipe from a probe's child to its parent.
template <class T>
[[nodiscard]] std::string section_to_json(const Section<T>& section);
template <class T>
[[nodiscard]] Result<Section<T>> parse_section(std::string_view text);

// The types that these two functions are compiled for.
// clang-format off
#define MUSTER_SECTIONS(X) \
  X(Identity) X(Cpu) X(Memory) X(Mounts) X(Disks) X(Processes) X(Kernel) X(KernelLog) X(Services) \
  X(Network) X(Pci) X(Infiniband) X(Verbs) X(Topology) X(Environment) X(Nvml) X(Earlier)
// clang-format on

}  // namespace muster
