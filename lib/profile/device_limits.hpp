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

  template <class Self = PciDeviceLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("nvswitches",
              &Self::nvswitches,
              "NVSwitches on the bus; GPUs and HCAs are counted by gpu.present and ib.present")};
  }
};

struct LinkLimit {
  Limit<Transfers> speed;
  Limit<int> width;

  template <class Self = LinkLimit>
  static constexpr auto fields() {
    return std::tuple{field("speed", &Self::speed, "per lane"),
                      field("width", &Self::width, "lanes")};
  }
};

struct PciLinkLimits {
  LinkLimit gpu, hca;
  std::string unmeasurable = "unknown";

  template <class Self = PciLinkLimits>
  static constexpr auto fields() {
    return std::tuple{field("gpu", &Self::gpu, "GPUs"),
                      field("hca", &Self::hca, "InfiniBand HCAs"),
                      field("unmeasurable",
                            &Self::unmeasurable,
                            "outcome where the kernel says Unknown: skip or unknown")};
  }
};

struct PciErrorLimits {
  Limit<double> correctable_warn_above_per_hour;
  Seconds window{};

  template <class Self = PciErrorLimits>
  static constexpr auto fields() {
    return std::tuple{field("correctable_warn_above_per_hour",
                            &Self::correctable_warn_above_per_hour,
                            "correctable errors per hour and device"),
                      field("window", &Self::window, "how far back")};
  }
};

struct PciLimits {
  PciDeviceLimits devices;
  PciLinkLimits link;
  PciErrorLimits errors;

  template <class Self = PciLimits>
  static constexpr auto fields() {
    return std::tuple{field("devices", &Self::devices, ""),
                      field("link", &Self::link, ""),
                      field("errors", &Self::errors, "")};
  }
};

struct IbPresentLimits {
  Limit<int> count;
  std::string name = "*", exclude;

  template <class Self = IbPresentLimits>
  static constexpr auto fields() {
    return std::tuple{field("count", &Self::count, "InfiniBand HCAs"),
                      field("name", &Self::name, "verbs name, a glob"),
                      field("exclude", &Self::exclude, "verbs names that never count, a glob")};
  }
};

struct IbRateLimits {
  Limit<BitsPerSecond> expected;
  Limit<std::string> width, speed;

  template <class Self = IbRateLimits>
  static constexpr auto fields() {
    return std::tuple{field("expected", &Self::expected, "rate of a port"),
                      field("width", &Self::width, "lanes, as 4X"),
                      field("speed", &Self::speed, "lane speed, as NDR")};
  }
};

struct IbFirmwareLimits {
  std::map<std::string, Words> allowed;
  bool same = true;

  template <class Self = IbFirmwareLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("allowed",
              &Self::allowed,
              "board id to allowed firmware versions, globs; empty for any"),
        field("same", &Self::same, "firmware and board id must be the same on all HCAs")};
  }
};

struct IbPkeyLimits {
  std::string require = "any_full_member";

  template <class Self = IbPkeyLimits>
  static constexpr auto fields() {
    return std::tuple{field("require",
                            &Self::require,
                            "non_default_full_member, default_full_member or any_full_member")};
  }
};

struct IbAddressLimits {
  bool same_prefix = true;

  template <class Self = IbAddressLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("same_prefix", &Self::same_prefix, "all HCAs share one GID subnet prefix")};
  }
};

struct IbMtuLimits {
  Limit<Bytes> active;

  template <class Self = IbMtuLimits>
  static constexpr auto fields() {
    return std::tuple{field("active", &Self::active, "active MTU of a port")};
  }
};

struct CounterLimit {
  Limit<double> warn_above_per_hour, fail_above_per_hour;
  Limit<double> warn_above, fail_above;
  Limit<Seconds> warn_within, fail_within;

  template <class Self = CounterLimit>
  static constexpr auto fields() {
    return std::tuple{
        field("warn_above_per_hour",
              &Self::warn_above_per_hour,
              "increments per hour, in the last hour or on average over the window"),
        field("fail_above_per_hour",
              &Self::fail_above_per_hour,
              "increments per hour, in the last hour or on average over the window"),
        field("warn_above", &Self::warn_above, "increments in warn_within"),
        field("fail_above", &Self::fail_above, "increments in fail_within"),
        field("warn_within", &Self::warn_within, "how far back; not set for the window"),
        field("fail_within", &Self::fail_within, "how far back; not set for the window")};
  }
};

struct IbErrorLimits {
  Seconds window{};
  std::map<std::string, CounterLimit> counters;

  template <class Self = IbErrorLimits>
  static constexpr auto fields() {
    return std::tuple{field("window", &Self::window, "how far back"),
                      field("counters", &Self::counters, "limits by the counter's name")};
  }
};

struct IbFlapLimits {
  Limit<int> max;
  Seconds window{}, ignore_after_boot{};

  template <class Self = IbFlapLimits>
  static constexpr auto fields() {
    return std::tuple{field("max", &Self::max, "times a link may go down in the window"),
                      field("window", &Self::window, "how far back"),
                      field("ignore_after_boot",
                            &Self::ignore_after_boot,
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

  template <class Self = IbLimits>
  static constexpr auto fields() {
    return std::tuple{field("present", &Self::present, ""),
                      field("rate", &Self::rate, ""),
                      field("firmware", &Self::firmware, ""),
                      field("pkey", &Self::pkey, ""),
                      field("address", &Self::address, ""),
                      field("mtu", &Self::mtu, ""),
                      field("errors", &Self::errors, ""),
                      field("flaps", &Self::flaps, "")};
  }
};

struct TopoNumaLimits {
  std::map<std::string, int> gpu, hca, nvme;

  template <class Self = TopoNumaLimits>
  static constexpr auto fields() {
    return std::tuple{field("gpu", &Self::gpu, "PCI address to NUMA node"),
                      field("hca", &Self::hca, "PCI address to NUMA node"),
                      field("nvme", &Self::nvme, "PCI address to NUMA node")};
  }
};

struct TopoPairingLimits {
  std::map<std::string, std::string> pairs;
  std::string nearest;

  template <class Self = TopoPairingLimits>
  static constexpr auto fields() {
    return std::tuple{field("pairs", &Self::pairs, "PCI address of a GPU to that of its HCA"),
                      field("nearest", &Self::nearest, "same_switch or same_numa")};
  }
};

struct TopoNvlinkLimits {
  std::string ends_in;
  Limit<int> neighbours;
  std::map<std::string, Words> pairs;

  template <class Self = TopoNvlinkLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("ends_in", &Self::ends_in, "what the NVLinks of a GPU lead to: switch or gpu"),
        field("neighbours",
              &Self::neighbours,
              "other GPUs that the NVLinks of each GPU lead to directly"),
        field("pairs",
              &Self::pairs,
              "PCI address of a GPU to those of GPUs that it is linked with directly")};
  }
};

struct TopoNcclFileLimits {
  Limit<std::string> path;

  template <class Self = TopoNcclFileLimits>
  static constexpr auto fields() {
    return std::tuple{field("path", &Self::path, "NCCL's topology file")};
  }
};

struct TopoLimits {
  TopoNumaLimits numa;
  TopoPairingLimits pairing;
  TopoNvlinkLimits nvlink_matrix;
  TopoNcclFileLimits nccl_file;

  template <class Self = TopoLimits>
  static constexpr auto fields() {
    return std::tuple{field("numa", &Self::numa, ""),
                      field("pairing", &Self::pairing, ""),
                      field("nvlink_matrix", &Self::nvlink_matrix, ""),
                      field("nccl_file", &Self::nccl_file, "")};
  }
};

struct EnvNcclLimits {
  std::map<std::string, std::string> require, harmful;

  template <class Self = EnvNcclLimits>
  static constexpr auto fields() {
    return std::tuple{field("require", &Self::require, "variable to expected value"),
                      field("harmful", &Self::harmful, "variable to the value that hurts, a glob")};
  }
};

struct EnvLibraryLimits {
  Words required, optional;
  Limit<std::string> nccl_min;

  template <class Self = EnvLibraryLimits>
  static constexpr auto fields() {
    return std::tuple{field("required", &Self::required, "sonames that must open"),
                      field("optional", &Self::optional, "sonames that are recorded"),
                      field("nccl_min", &Self::nccl_min, "least NCCL version")};
  }
};

struct EnvLimits {
  EnvNcclLimits nccl;
  EnvLibraryLimits libraries;

  template <class Self = EnvLimits>
  static constexpr auto fields() {
    return std::tuple{field("nccl", &Self::nccl, ""), field("libraries", &Self::libraries, "")};
  }
};

struct MusterProbeLimits {
  Words fatal;

  template <class Self = MusterProbeLimits>
  static constexpr auto fields() {
    return std::tuple{field("fatal", &Self::fatal, "probes whose time-out fails the node")};
  }
};

struct MusterLimits {
  MusterProbeLimits probes;

  template <class Self = MusterLimits>
  static constexpr auto fields() {
    return std::tuple{field("probes", &Self::probes, "")};
  }
};

}  // namespace muster
