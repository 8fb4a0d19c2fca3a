// SPDX-License-Identifier: Apache-2.0
// What a kind of node must be: expected facts, limits, and what each context runs. Checks read it
// as plain typed values; where each value came from is kept beside it for `explain` and `show`.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"
#include "lib/profile/owned.hpp"

namespace muster {

// The limits of each group's checks stand in lib/profile/limits; who looks into a group includes
// its header.
struct HostLimits;
struct PciLimits;
struct GpuLimits;
struct IbLimits;
struct TopoLimits;
struct EnvLimits;
struct MusterLimits;
struct BenchLimits;

extern template class Owned<HostLimits>;
extern template class Owned<PciLimits>;
extern template class Owned<GpuLimits>;
extern template class Owned<IbLimits>;
extern template class Owned<TopoLimits>;
extern template class Owned<EnvLimits>;
extern template class Owned<MusterLimits>;
extern template class Owned<BenchLimits>;

inline constexpr std::string_view kProfileSchema = "muster.profile/1";

// What `must_observe` may name: groups of checks whose facts come from probes.
inline constexpr std::array kMustObserveWords{std::string_view("host"), std::string_view("pci"),
                                              std::string_view("gpu"), std::string_view("ib")};

// How to know such a node by its hardware. What rarely breaks decides; counts only choose between
// candidates, so that a node with missing hardware is still recognised.
struct Recognise {
  MUSTER_DESCRIBED(Recognise);
  MUSTER_FIELD(Limit<std::string>, chassis_asset_tag, "DMI chassis asset tag");
  MUSTER_FIELD(Limit<std::string>, dmi_vendor, "DMI vendor, a glob");
  MUSTER_FIELD(Limit<std::string>, dmi_product, "DMI product, a glob");
  // As 10de:2330: vendor and device.
  MUSTER_FIELD(Words, gpu_pci_ids, "PCI ids of its GPUs, any of them");
  MUSTER_FIELD(Limit<bool>, infiniband, "has InfiniBand at all");
  MUSTER_FIELD(Limit<int>, gpus, "count, to choose between candidates");
  MUSTER_FIELD(Limit<int>, hcas, "count, to choose between candidates");
  MUSTER_FIELD(Limit<int>, cores, "count, to choose between candidates");
  MUSTER_FIELD(Limit<Bytes>, memory, "MemTotal, to choose between candidates");
  MUSTER_FIELD(Limit<int>, nvme, "NVMe disks, where all else is equal");
};

// What a run in one context does.
struct Context {
  MUSTER_DESCRIBED(Context);
  MUSTER_FIELD(Words, run, "checks to run, globs") = {"*"};
  MUSTER_FIELD(Words, skip, "checks to leave out, globs");
  MUSTER_FIELD(Words, count_unknown, "checks whose unknown counts, globs") = {"*"};
  MUSTER_FIELD(Seconds, deadline, "the whole run ends within") = {20};
  MUSTER_FIELD(bool, gpus_idle,
               "no process has a right to the GPUs (in prolog and epilog: to those of the job)") =
      false;
};

// What may be said about any check, in its block beside its limits.
struct Policy {
  MUSTER_DESCRIBED(Policy);
  MUSTER_FIELD(bool, enabled, "run it at all") = true;
  MUSTER_FIELD(Outcome, fail_as, "outcome of a failed rule: fail, warn or pass") = Outcome::fail;
  MUSTER_FIELD(Outcome, warn_as, "outcome of a warning: fail, warn or pass") = Outcome::warn;
};

// Where a value was set.
struct Origin {
  std::string file;    // "profiles/nd96isr_h100_v5.yaml", "/etc/muster/muster.yaml", "--set"
  int line = 0;        // from 1; 0 where there is none
  std::string source;  // who says so, from the nearest enclosing `source`
  std::string as_of;   // when it was true, from the nearest enclosing `as_of`

  bool operator==(const Origin&) const = default;
};

struct Profile {
  MUSTER_DESCRIBED(Profile);
  std::string name = "generic";
  MUSTER_FIELD(std::string, summary, "one line");
  MUSTER_FIELD(Words, aliases, "other names of the same hardware");
  MUSTER_FIELD(Recognise, recognise, "how to know such a node");
  // Of kMustObserveWords.
  MUSTER_FIELD(Words, must_observe,
               "groups of checks without whose facts the verdict is unknown: "
               "host, pci, gpu, ib");
  MUSTER_FIELD(Owned<HostLimits>, host, "");
  MUSTER_FIELD(Owned<PciLimits>, pci, "");
  MUSTER_FIELD(Owned<GpuLimits>, gpu, "");
  MUSTER_FIELD(Owned<IbLimits>, ib, "");
  MUSTER_FIELD(Owned<TopoLimits>, topo, "");
  MUSTER_FIELD(Owned<EnvLimits>, env, "");
  MUSTER_FIELD(Owned<MusterLimits>, muster, "");
  MUSTER_FIELD(Owned<BenchLimits>, bench, "");
  // By its name: manual, prolog, epilog, periodic, boot.
  MUSTER_FIELD(ByName<Context>, contexts, "what each context runs");

  std::map<std::string, Policy> policies;  // by check id; a check without an entry has the defaults
  std::map<std::string, Origin> origins;   // by the key's path: "host.memory.total"
  std::map<std::string, std::string> values;  // by the same path, as written: for `profiles show`
};

// Whether the node is to have GPUs, and InfiniBand HCAs: what most checks ask.
[[nodiscard]] bool expects_gpus(const Profile& profile);
[[nodiscard]] bool expects_hcas(const Profile& profile);

}  // namespace muster
