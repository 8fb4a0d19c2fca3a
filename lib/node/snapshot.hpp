// SPDX-License-Identifier: Apache-2.0
// Everything observed on one node at one time, in a section per probe. Checks read nothing else
// about the node.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/result.hpp"
#include "lib/node/devices.hpp"
#include "lib/node/earlier.hpp"
#include "lib/node/gpu.hpp"
#include "lib/node/host.hpp"
#include "lib/node/xid.hpp"

namespace muster {

enum class Status {
  ok,       // the probe completed; single facts may be missing, each with its reason
  absent,   // there is nothing to observe (no RDMA stack, a foreign root …)
  timeout,  // the probe did not answer in time
  error,    // the probe crashed, or could not read what it needs
};
MUSTER_WORDS(Status, "ok", "absent", "timeout", "error");

inline constexpr std::string_view kNotObserved = "not observed";

template <class T>
struct Section {
  Status status = Status::absent;
  std::string reason{kNotObserved};  // empty if ok
  double duration_ms = 0;
  T facts{};

  [[nodiscard]] bool ok() const { return status == Status::ok; }

  // False if its probe was not run.
  [[nodiscard]] bool asked() const { return status != Status::absent || reason != kNotObserved; }

  const T* operator->() const { return &facts; }

  T* operator->() { return &facts; }

  const T& operator*() const { return facts; }

  bool operator==(const Section&) const = default;
};

// The section of a probe that completed.
template <class T>
[[nodiscard]] Section<T> observed(T facts) {
  return {.status = Status::ok, .reason = {}, .duration_ms = 0, .facts = std::move(facts)};
}

// In JSON a section has "reason" only if it has one, and "facts" only if it is ok.
template <class T>
void write_json(JsonWriter& json, const Section<T>& section) {
  json.object([&] {
    json.member("status", section.status);
    if (!section.reason.empty()) json.member("reason", section.reason);
    json.member("duration_ms", section.duration_ms);
    if (section.ok()) json.member("facts", section.facts);
  });
}

template <class T>
void read_json(const JsonReader& json, Section<T>& section) {
  if (!json.expect_object()) return;
  section = {.status = Status::error, .reason = {}};
  json.member("status", section.status);
  json.member("reason", section.reason);
  json.member("duration_ms", section.duration_ms);
  if (section.ok()) json.member("facts", section.facts);
}

// The probes in the order of reports, each with its name, which is also the name of the section it
// fills, and the type of its facts.
#define MUSTER_PROBES(X)      \
  X(identity, Identity)       \
  X(cpu, Cpu)                 \
  X(memory, Memory)           \
  X(mounts, Mounts)           \
  X(disks, Disks)             \
  X(processes, Processes)     \
  X(kernel, Kernel)           \
  X(kernel_log, KernelLog)    \
  X(services, Services)       \
  X(network, Network)         \
  X(pci, Pci)                 \
  X(infiniband, Infiniband)   \
  X(verbs, Verbs)             \
  X(topology, Topology)       \
  X(environment, Environment) \
  X(nvml, Nvml)

#define MUSTER_ENUMERATOR(name, Facts) name,
enum class Probe { MUSTER_PROBES(MUSTER_ENUMERATOR) };
#undef MUSTER_ENUMERATOR

#define MUSTER_NAME(name, Facts) std::string_view(#name),
inline constexpr std::array kProbeNames{MUSTER_PROBES(MUSTER_NAME)};
#undef MUSTER_NAME

constexpr const auto& json_words(Probe /*type*/) { return kProbeNames; }

inline constexpr std::string_view kSnapshotSchema = "muster.snapshot/1";

#define MUSTER_SECTION(name, Facts) Section<Facts> name;

struct Snapshot {
  std::string taken;  // wall time, RFC 3339 in UTC; a label, never judged
  MUSTER_PROBES(MUSTER_SECTION)
  Xids xids;  // from the records of the kernel log; not in JSON
  Earlier earlier;

  bool operator==(const Snapshot&) const = default;
};

#undef MUSTER_SECTION

// Calls `visit(Probe, section)` for all sections of a snapshot, in order.
template <class S, class Visitor>
void for_each_section(S& snapshot, Visitor&& visit) {
#define MUSTER_VISIT(name, Facts) visit(Probe::name, snapshot.name);
  MUSTER_PROBES(MUSTER_VISIT)
#undef MUSTER_VISIT
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

}  // namespace muster
