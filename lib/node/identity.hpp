// SPDX-License-Identifier: Apache-2.0
// Who a node is: its name, its boot and the machine it runs on.
#pragma once

#include <string>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Identity {
  std::string hostname;       // root's proc/sys/kernel/hostname
  Fact<std::string> boot_id;  // proc/sys/kernel/random/boot_id
  Fact<double> uptime_s;
  Fact<std::string> dmi_vendor;
  Fact<std::string> dmi_product;
  Fact<std::string> chassis_asset_tag;
  bool hypervisor = false;
  bool foreign_root = false;
  Fact<std::string> physical_host;
  Fact<std::string> instance_size;

  MUSTER_FIELDS(Identity,
                MUSTER_FIELD(hostname, "the node's name"),
                MUSTER_FIELD(boot_id, "changes with every boot"),
                MUSTER_FIELD(uptime_s, "seconds since boot, when the snapshot was taken"),
                MUSTER_FIELD(dmi_vendor, "DMI sys_vendor"),
                MUSTER_FIELD(dmi_product, "DMI product_name"),
                MUSTER_FIELD(chassis_asset_tag,
                             "DMI chassis asset tag; the same on every Azure VM"),
                MUSTER_FIELD(hypervisor, "the processor says it runs under a hypervisor"),
                MUSTER_FIELD(foreign_root,
                             "observed below --root: live interfaces could not be asked"),
                MUSTER_FIELD(physical_host,
                             "Azure: name of the physical host, from the Hyper-V key-value pool"),
                MUSTER_FIELD(instance_size,
                             "size of the instance as its cloud calls it, from the file in which "
                             "cloud-init keeps what it was told"));
};

}  // namespace muster
