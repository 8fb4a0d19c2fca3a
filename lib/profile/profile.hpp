// SPDX-License-Identifier: Apache-2.0
// What a kind of node must be: expected facts, limits, and what each context runs. Checks read it
// as plain typed values; where each value came from is kept beside it for `explain` and `show`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/bench_limits.hpp"
#include "lib/profile/device_limits.hpp"
#include "lib/profile/gpu_limits.hpp"
#include "lib/profile/host_limits.hpp"
#include "lib/profile/limit.hpp"

namespace muster {

inline constexpr std::string_view kProfileSchema = "muster.profile/1";

// How to know such a node by its hardware. What rarely breaks decides; counts only choose between
// candidates, so that a node with missing hardware is still recognised.
struct Recognise {
  Limit<std::string> chassis_asset_tag;
  Limit<std::string> dmi_vendor;
  Words gpu_pci_ids;       // vendor:device, as 10de:2330
  Limit<bool> infiniband;  // has HCAs with link layer InfiniBand
  Limit<int> gpus, hcas, cores, nvme;
  Limit<Bytes> memory;

  template <class Self = Recognise>
  static constexpr auto fields() {
    return std::tuple{field("chassis_asset_tag", &Self::chassis_asset_tag, "DMI chassis asset tag"),
                      field("dmi_vendor", &Self::dmi_vendor, "DMI vendor, a glob"),
                      field("gpu_pci_ids", &Self::gpu_pci_ids, "PCI ids of its GPUs, any of them"),
                      field("infiniband", &Self::infiniband, "has InfiniBand at all"),
                      field("gpus", &Self::gpus, "count, to choose between candidates"),
                      field("hcas", &Self::hcas, "count, to choose between candidates"),
                      field("cores", &Self::cores, "count, to choose between candidates"),
                      field("memory", &Self::memory, "MemTotal, to choose between candidates"),
                      field("nvme", &Self::nvme, "NVMe disks, where all else is equal")};
  }
};

// What a run in one context does.
struct Context {
  Words run{"*"};            // globs of check ids
  Words skip;                // globs of check ids left out of those
  Words count_unknown{"*"};  // checks whose `unknown` makes the verdict unknown
  Seconds deadline{20};
  bool gpus_idle = false;  // nobody computes: a prolog's or epilog's job on its GPUs, else anyone

  bool resets_wait = false;  // what works until the next reset is a warning

  template <class Self = Context>
  static constexpr auto fields() {
    return std::tuple{
        field("run", &Self::run, "checks to run, globs"),
        field("skip", &Self::skip, "checks to leave out, globs"),
        field("count_unknown", &Self::count_unknown, "checks whose unknown counts, globs"),
        field("deadline", &Self::deadline, "the whole run ends within"),
        field("gpus_idle",
              &Self::gpus_idle,
              "no process has a right to the GPUs (in prolog and epilog: to those of the job)"),
        field("resets_wait",
              &Self::resets_wait,
              "a GPU that works until its next reset is a warning, and no failure")};
  }
};

// What may be said about any check, in its block beside its limits.
struct Policy {
  bool enabled = true;
  std::string fail_as =
      "fail";  // what the report calls it when the check says fail: fail, warn, pass
  std::string warn_as = "warn";  // fail, warn, pass

  template <class Self = Policy>
  static constexpr auto fields() {
    return std::tuple{
        field("enabled", &Self::enabled, "run it at all"),
        field("fail_as", &Self::fail_as, "outcome of a failed rule: fail, warn or pass"),
        field("warn_as", &Self::warn_as, "outcome of a warning: fail, warn or pass")};
  }
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
  HostLimits host;
  PciLimits pci;
  GpuLimits gpu;
  IbLimits ib;
  TopoLimits topo;
  EnvLimits env;
  MusterLimits muster;
  BenchLimits bench;
  std::map<std::string, Context> contexts;  // manual, prolog, epilog, periodic, boot
  std::map<std::string, Policy> policies;  // by check id; a check without an entry has the defaults
  std::map<std::string, Origin> origins;   // by the key's path: "host.memory.total"
  std::map<std::string, std::string> values;  // by the same path, as written: for `profiles show`

  template <class Self = Profile>
  static constexpr auto fields() {
    return std::tuple{field("summary", &Self::summary, "one line"),
                      field("aliases", &Self::aliases, "other names of the same hardware"),
                      field("recognise", &Self::recognise, "how to know such a node"),
                      field("host", &Self::host, ""),
                      field("pci", &Self::pci, ""),
                      field("gpu", &Self::gpu, ""),
                      field("ib", &Self::ib, ""),
                      field("topo", &Self::topo, ""),
                      field("env", &Self::env, ""),
                      field("muster", &Self::muster, ""),
                      field("bench", &Self::bench, ""),
                      field("contexts", &Self::contexts, "what each context runs")};
  }
};

// Does the node have GPUs to expect, and are there InfiniBand HCAs to expect: what most checks ask.
[[nodiscard]] inline bool expects_gpus(const Profile& p) {
  return p.gpu.present.count.value_or(0) > 0;
}

[[nodiscard]] inline bool expects_hcas(const Profile& p) {
  return p.ib.present.count.value_or(0) > 0;
}

}  // namespace muster
