// SPDX-License-Identifier: Apache-2.0
// The limits of the checks pci.*, ib.*, topo.*, env.* and muster.*: one struct per check, with its
// keys as they stand in a profile below `<group>.<name>`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limit.hpp"

namespace muster {

struct PciDeviceLimits {
  Limit<int> nvswitches;

  static constexpr auto fields() {
    return std::tuple{
        field("nvswitches",
              &PciDeviceLimits::nvswitches,
              "NVSwitches on the bus; GPUs and HCAs are counted by gpu.present and ib.present")};
  }
};

struct LinkLimit {
  Limit<Transfers> speed;
  Limit<int> width;

  static constexpr auto fields() {
    return std::tuple{field("speed", &LinkLimit::speed, "per lane"),
                      field("width", &LinkLimit::width, "lanes")};
  }
};

struct PciLinkLimits {
  LinkLimit gpu, hca;
  std::string unmeasurable = "unknown";

  static constexpr auto fields() {
    return std::tuple{field("gpu", &PciLinkLimits::gpu, "GPUs"),
                      field("hca", &PciLinkLimits::hca, "InfiniBand HCAs"),
                      field("unmeasurable",
                            &PciLinkLimits::unmeasurable,
                            "outcome where the kernel says Unknown: skip or unknown")};
  }
};

struct PciErrorLimits {
  Limit<double> correctable_warn_above_per_hour;
  Seconds window{};

  static constexpr auto fields() {
    return std::tuple{field("correctable_warn_above_per_hour",
                            &PciErrorLimits::correctable_warn_above_per_hour,
                            "correctable errors per hour and device"),
                      field("window", &PciErrorLimits::window, "how far back")};
  }
};

struct PciLimits {
  PciDeviceLimits devices;
  PciLinkLimits link;
  PciErrorLimits errors;

  static constexpr auto fields() {
    return std::tuple{field("devices", &PciLimits::devices, ""),
                      field("link", &PciLimits::link, ""),
                      field("errors", &PciLimits::errors, "")};
  }
};

struct IbPresentLimits {
  Limit<int> count;
  std::string name = "*", exclude;

  static constexpr auto fields() {
    return std::tuple{
        field("count", &IbPresentLimits::count, "InfiniBand HCAs"),
        field("name", &IbPresentLimits::name, "verbs name, a glob"),
        field("exclude", &IbPresentLimits::exclude, "verbs names that never count, a glob")};
  }
};

struct IbRateLimits {
  Limit<BitsPerSecond> expected;
  Limit<std::string> width, speed;

  static constexpr auto fields() {
    return std::tuple{field("expected", &IbRateLimits::expected, "rate of a port"),
                      field("width", &IbRateLimits::width, "lanes, as 4X"),
                      field("speed", &IbRateLimits::speed, "lane speed, as NDR")};
  }
};

struct IbFirmwareLimits {
  std::map<std::string, Words> allowed;
  bool same = true;

  static constexpr auto fields() {
    return std::tuple{
        field("allowed",
              &IbFirmwareLimits::allowed,
              "board id to allowed firmware versions, globs; empty for any"),
        field(
            "same", &IbFirmwareLimits::same, "firmware and board id must be the same on all HCAs")};
  }
};

struct IbPkeyLimits {
  std::string require = "any_full_member";

  static constexpr auto fields() {
    return std::tuple{field("require",
                            &IbPkeyLimits::require,
                            "non_default_full_member, default_full_member or any_full_member")};
  }
};

struct IbAddressLimits {
  bool same_prefix = true;

  static constexpr auto fields() {
    return std::tuple{field(
        "same_prefix", &IbAddressLimits::same_prefix, "all HCAs share one GID subnet prefix")};
  }
};

struct IbMtuLimits {
  Limit<Bytes> active;

  static constexpr auto fields() {
    return std::tuple{field("active", &IbMtuLimits::active, "active MTU of a port")};
  }
};

struct CounterLimit {
  Limit<double> warn_above_per_hour, fail_above_per_hour;

  static constexpr auto fields() {
    return std::tuple{
        field("warn_above_per_hour", &CounterLimit::warn_above_per_hour, "increments per hour"),
        field("fail_above_per_hour", &CounterLimit::fail_above_per_hour, "increments per hour")};
  }
};

struct IbErrorLimits {
  Seconds window{};
  std::map<std::string, CounterLimit> counters;

  static constexpr auto fields() {
    return std::tuple{field("window", &IbErrorLimits::window, "how far back"),
                      field("counters", &IbErrorLimits::counters, "limits by the counter's name")};
  }
};

struct IbFlapLimits {
  Limit<int> max;
  Seconds window{}, ignore_after_boot{};

  static constexpr auto fields() {
    return std::tuple{field("max", &IbFlapLimits::max, "times a link may go down in the window"),
                      field("window", &IbFlapLimits::window, "how far back"),
                      field("ignore_after_boot",
                            &IbFlapLimits::ignore_after_boot,
                            "links come and go while the node boots")};
  }
};

struct IbLimits {
  IbPresentLimits present;
  IbRateLimits rate;
  IbFirmwareLimits firmware;
  IbPkeyLimits pkey;
  IbAddressLimits address;
  IbMtuLimits mtu;
  IbErrorLimits errors;
  IbFlapLimits flaps;

  static constexpr auto fields() {
    return std::tuple{field("present", &IbLimits::present, ""),
                      field("rate", &IbLimits::rate, ""),
                      field("firmware", &IbLimits::firmware, ""),
                      field("pkey", &IbLimits::pkey, ""),
                      field("address", &IbLimits::address, ""),
                      field("mtu", &IbLimits::mtu, ""),
                      field("errors", &IbLimits::errors, ""),
                      field("flaps", &IbLimits::flaps, "")};
  }
};

struct TopoNumaLimits {
  std::map<std::string, int> gpu, hca, nvme;

  static constexpr auto fields() {
    return std::tuple{field("gpu", &TopoNumaLimits::gpu, "PCI address to NUMA node"),
                      field("hca", &TopoNumaLimits::hca, "PCI address to NUMA node"),
                      field("nvme", &TopoNumaLimits::nvme, "PCI address to NUMA node")};
  }
};

struct TopoPairingLimits {
  std::map<std::string, std::string> pairs;
  std::string nearest;

  static constexpr auto fields() {
    return std::tuple{
        field("pairs", &TopoPairingLimits::pairs, "PCI address of a GPU to that of its HCA"),
        field("nearest", &TopoPairingLimits::nearest, "same_switch or same_numa")};
  }
};

struct TopoNcclFileLimits {
  Limit<std::string> path;

  static constexpr auto fields() {
    return std::tuple{field("path", &TopoNcclFileLimits::path, "NCCL's topology file")};
  }
};

struct TopoLimits {
  TopoNumaLimits numa;
  TopoPairingLimits pairing;
  TopoNcclFileLimits nccl_file;

  static constexpr auto fields() {
    return std::tuple{field("numa", &TopoLimits::numa, ""),
                      field("pairing", &TopoLimits::pairing, ""),
                      field("nccl_file", &TopoLimits::nccl_file, "")};
  }
};

struct EnvNcclLimits {
  std::map<std::string, std::string> require, harmful;

  static constexpr auto fields() {
    return std::tuple{
        field("require", &EnvNcclLimits::require, "variable to expected value"),
        field("harmful", &EnvNcclLimits::harmful, "variable to the value that hurts, a glob")};
  }
};

struct EnvLibraryLimits {
  Words required, optional;
  Limit<std::string> nccl_min;

  static constexpr auto fields() {
    return std::tuple{field("required", &EnvLibraryLimits::required, "sonames that must open"),
                      field("optional", &EnvLibraryLimits::optional, "sonames that are recorded"),
                      field("nccl_min", &EnvLibraryLimits::nccl_min, "least NCCL version")};
  }
};

struct EnvLimits {
  EnvNcclLimits nccl;
  EnvLibraryLimits libraries;

  static constexpr auto fields() {
    return std::tuple{field("nccl", &EnvLimits::nccl, ""),
                      field("libraries", &EnvLimits::libraries, "")};
  }
};

struct MusterProbeLimits {
  Words fatal;

  static constexpr auto fields() {
    return std::tuple{
        field("fatal", &MusterProbeLimits::fatal, "probes whose time-out fails the node")};
  }
};

struct MusterLimits {
  MusterProbeLimits probes;

  static constexpr auto fields() { return std::tuple{field("probes", &MusterLimits::probes, "")}; }
};

}  // namespace muster
