// SPDX-License-Identifier: Apache-2.0
// The identity of a node: its name, its boot and its machine.
#pragma once

#include <string>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Identity {
  MUSTER_DESCRIBED(Identity);
  MUSTER_FIELD(std::string, hostname, "the name of the node, from proc/sys/kernel/hostname");
  MUSTER_FIELD(Fact<std::string>, boot_id, "changes with every boot");
  MUSTER_FIELD(Fact<double>, uptime_s, "seconds since boot, when the snapshot was taken");
  MUSTER_FIELD(Fact<std::string>, dmi_vendor, "DMI sys_vendor");
  MUSTER_FIELD(Fact<std::string>, dmi_product, "DMI product_name");
  MUSTER_FIELD(Fact<std::string>, chassis_asset_tag,
               "DMI chassis asset tag; the same on every Azure VM");
  MUSTER_FIELD(bool, hypervisor, "the processor reports a hypervisor") = false;
  MUSTER_FIELD(bool, foreign_root, "observed below --root, without live interfaces") = false;
  MUSTER_FIELD(Fact<std::string>, physical_host,
               "Azure: name of the physical host, from the Hyper-V key-value pool");
  MUSTER_FIELD(Fact<std::string>, instance_size,
               "the cloud's name of the instance size, from cloud-init's instance data");
};

}  // namespace muster
