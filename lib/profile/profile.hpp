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
inline constexpr std::array kMustObserveWords{std::string_view("host"),
                                              std::string_view("pci"),
                                              std::string_view("gpu"),
                                              std::string_view("ib")};

// How to know such a node by its hardware. What rarely breaks decides; counts only choose between
// candidates, so that a node with missing hardware is still recognised.
struct Recognise {
  Limit<std::string> chassis_asset_tag;
  Limit<std::string> dmi_vendor;
  Limit<std::string> dmi_product;
  Words gpu_pci_ids;       // vendor:device, as 10de:2330
  Limit<bool> infiniband;  // has HCAs with link layer InfiniBand
  Limit<int> gpus, hcas, cores, nvme;
  Limit<Bytes> memory;

  MUSTER_FIELDS(Recognise,
                MUSTER_FIELD(chassis_asset_tag, "DMI chassis asset tag"),
                MUSTER_FIELD(dmi_vendor, "DMI vendor, a glob"),
                MUSTER_FIELD(dmi_product, "DMI product, a glob"),
                MUSTER_FIELD(gpu_pci_ids, "PCI ids of its GPUs, any of them"),
                MUSTER_FIELD(infiniband, "has InfiniBand at all"),
                MUSTER_FIELD(gpus, "count, to choose between candidates"),
                MUSTER_FIELD(hcas, "count, to choose between candidates"),
                MUSTER_FIELD(cores, "count, to choose between candidates"),
                MUSTER_FIELD(memory, "MemTotal, to choose between candidates"),
                MUSTER_FIELD(nvme, "NVMe disks, where all else is equal"));
};

// What a run in one context does.
struct Context {
  Words run{"*"};            // globs of check ids
  Words skip;                // globs of check ids left out of those
  Words count_unknown{"*"};  // checks whose `unknown` makes the verdict unknown
  Seconds deadline{20};
  bool gpus_idle = false;  // nobody computes: a prolog's or epilog's job on its GPUs, else anyone

  MUSTER_FIELDS(
      Context,
      MUSTER_FIELD(run, "checks to run, globs"),
      MUSTER_FIELD(skip, "checks to leave out, globs"),
      MUSTER_FIELD(count_unknown, "checks whose unknown counts, globs"),
      MUSTER_FIELD(deadline, "the whole run ends within"),
      MUSTER_FIELD(
          gpus_idle,
          "no process has a right to the GPUs (in prolog and epilog: to those of the job)"));
};

// What may be said about any check, in its block beside its limits.
struct Policy {
  bool enabled = true;
  std::string fail_as =
      "fail";  // what the report calls it when the check says fail: fail, warn, pass
  std::string warn_as = "warn";  // fail, warn, pass

  MUSTER_FIELDS(Policy,
                MUSTER_FIELD(enabled, "run it at all"),
                MUSTER_CHOICE(fail_as,
                              kOutcomeWords,
                              "outcome of a failed rule: fail, warn or pass"),
                MUSTER_CHOICE(warn_as, kOutcomeWords, "outcome of a warning: fail, warn or pass"));
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
  std::string name = "generic";
  std::string summary;
  Words aliases;  // other names of the same hardware
  Recognise recognise;
  Words must_observe;  // groups of checks: see kMustObserveWords
  Owned<HostLimits> host;
  Owned<PciLimits> pci;
  Owned<GpuLimits> gpu;
  Owned<IbLimits> ib;
  Owned<TopoLimits> topo;
  Owned<EnvLimits> env;
  Owned<MusterLimits> muster;
  Owned<BenchLimits> bench;
  std::map<std::string, Context> contexts;  // manual, prolog, epilog, periodic, boot
  std::map<std::string, Policy> policies;  // by check id; a check without an entry has the defaults
  std::map<std::string, Origin> origins;   // by the key's path: "host.memory.total"
  std::map<std::string, std::string> values;  // by the same path, as written: for `profiles show`

  MUSTER_FIELDS(Profile,
                MUSTER_FIELD(summary, "one line"),
                MUSTER_FIELD(aliases, "other names of the same hardware"),
                MUSTER_FIELD(recognise, "how to know such a node"),
                MUSTER_FIELD(must_observe,
                             "groups of checks without whose facts the verdict is unknown: "
                             "host, pci, gpu, ib"),
                MUSTER_FIELD(host, ""),
                MUSTER_FIELD(pci, ""),
                MUSTER_FIELD(gpu, ""),
                MUSTER_FIELD(ib, ""),
                MUSTER_FIELD(topo, ""),
                MUSTER_FIELD(env, ""),
                MUSTER_FIELD(muster, ""),
                MUSTER_FIELD(bench, ""),
                MUSTER_FIELD(contexts, "what each context runs"));
};

// Whether the node is to have GPUs, and InfiniBand HCAs: what most checks ask.
[[nodiscard]] bool expects_gpus(const Profile& profile);
[[nodiscard]] bool expects_hcas(const Profile& profile);

}  // namespace muster
