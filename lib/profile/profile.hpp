// SPDX-License-Identifier: Apache-2.0
// The facts and limits expected of a kind of node, and what each context runs. Checks read plain
// typed values; `explain` and `show` use the origin of each value.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/bench.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster {

// The limits of a group of checks, which are used like those behind a pointer.
template <class Limits>
struct LimitGroup : Limits {
  LimitGroup() = default;
  LimitGroup(Limits all) : Limits(std::move(all)) {}  // NOLINT(google-explicit-constructor)
  Limits* operator->() { return this; }
  const Limits* operator->() const { return this; }
  const Limits& operator*() const { return *this; }
};

inline constexpr std::string_view kProfileSchema = "muster.profile/1";

// The values of `must_observe`: groups of checks whose facts come from probes.
inline constexpr std::array kMustObserveWords{std::string_view("host"), std::string_view("pci"),
                                              std::string_view("gpu"), std::string_view("ib")};

// Recognises a node by hardware that rarely breaks. Counts only choose between candidates, so that
// a node with missing hardware is still recognised.
struct Recognise {
  MUSTER_DESCRIBED(Recognise);
  MUSTER_FIELD(Limit<std::string>, chassis_asset_tag, "DMI chassis asset tag");
  MUSTER_FIELD(Limit<std::string>, dmi_vendor, "DMI vendor, a glob");
  MUSTER_FIELD(Limit<std::string>, dmi_product, "DMI product, a glob");
  // Vendor and device: 10de:2330.
  MUSTER_FIELD(Words, gpu_pci_ids, "PCI ids of its GPUs, any of them");
  MUSTER_FIELD(Limit<bool>, infiniband, "has InfiniBand at all");
  MUSTER_FIELD(Limit<int>, gpus, "count, to choose between candidates");
  MUSTER_FIELD(Limit<int>, hcas, "count, to choose between candidates");
  MUSTER_FIELD(Limit<int>, cores, "count, to choose between candidates");
  MUSTER_FIELD(Limit<Bytes>, memory, "MemTotal, to choose between candidates");
  MUSTER_FIELD(Limit<int>, nvme, "NVMe disks, where all else is equal");
};

// Settings of the runs in one context.
struct Context {
  MUSTER_DESCRIBED(Context);
  MUSTER_FIELD(Words, run, "checks to run, globs") = {"*"};
  MUSTER_FIELD(Words, skip, "checks to leave out, globs");
  MUSTER_FIELD(Words, count_unknown, "checks whose unknown counts, globs") = {"*"};
  MUSTER_FIELD(Seconds, deadline, "the whole run ends within") = {20};
  MUSTER_FIELD(bool, gpus_idle,
               "no process may use the GPUs (in prolog and epilog: those of the job)") = false;

  std::string name;  // filled in by the runner
};

// The keys that every check accepts besides its limits.
struct Policy {
  MUSTER_DESCRIBED(Policy);
  MUSTER_FIELD(bool, enabled, "run it at all") = true;
  MUSTER_FIELD(Outcome, fail_as, "outcome of a failed rule: fail, warn or pass") = Outcome::fail;
  MUSTER_FIELD(Outcome, warn_as, "outcome of a warning: fail, warn or pass") = Outcome::warn;
};

// The place where a value was set.
struct Origin {
  std::string file;    // "profiles/nd96isr_h100_v5.yaml", "/etc/muster/muster.yaml", "--set"
  int line = 0;        // from 1; 0 if there is none
  std::string source;  // of the nearest enclosing block with a `source`
  std::string as_of;   // of the nearest enclosing block with an `as_of`

  bool operator==(const Origin&) const = default;
};

// A value of a file or setting.
struct SetValue {
  std::string text;  // as written
  Origin origin = {};
  std::optional<double> number = {};  // in base units
  int document = 0;                   // a later document overrides an earlier one

  bool operator==(const SetValue&) const = default;
};

struct Profile {
  MUSTER_DESCRIBED(Profile);
  std::string name = "generic";
  MUSTER_FIELD(std::string, summary, "one line");
  MUSTER_FIELD(Words, aliases, "other names of the same hardware");
  MUSTER_FIELD(Recognise, recognise, "how to know such a node");
  MUSTER_FIELD(Words, must_observe,
               "groups of checks without whose facts the verdict is unknown: "
               "host, pci, gpu, ib");
  MUSTER_FIELD(LimitGroup<HostLimits>, host, "");
  MUSTER_FIELD(LimitGroup<PciLimits>, pci, "");
  MUSTER_FIELD(LimitGroup<GpuLimits>, gpu, "");
  MUSTER_FIELD(LimitGroup<IbLimits>, ib, "");
  MUSTER_FIELD(LimitGroup<TopoLimits>, topo, "");
  MUSTER_FIELD(LimitGroup<EnvLimits>, env, "");
  MUSTER_FIELD(LimitGroup<MusterLimits>, muster, "");
  MUSTER_FIELD(LimitGroup<BenchLimits>, bench, "");
  // By name: manual, prolog, epilog, periodic, boot.
  MUSTER_FIELD(ByName<Context>, contexts, "what each context runs");

  // By check id; a check without an entry has the defaults.
  std::map<std::string, Policy, std::less<>> policies;
  std::map<std::string, SetValue, std::less<>> values;  // by path: "host.memory.total"
};

// "FILE:LINE" of the value at `path`, or of the first one below it; the profile's name if there is
// neither.
[[nodiscard]] std::string place_of_value(const Profile& profile, std::string_view path);

[[nodiscard]] bool expects_gpus(const Profile& profile);
[[nodiscard]] bool expects_hcas(const Profile& profile);

}  // namespace muster
