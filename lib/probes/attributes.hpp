// SPDX-License-Identifier: Apache-2.0
// Helpers that turn small files of sysfs and procfs into facts.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/fact.hpp"
#include "lib/base/result.hpp"
#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {

// For files that every Linux system has: a missing one is a failure to observe, not absent.
template <class T>
[[nodiscard]] Fact<T> required(Result<T> result) {
  if (!result) return Fact<T>::unreadable(std::move(result.error().message));
  return Fact<T>(std::move(*result));
}

// Returns the section of a probe that could not observe anything.
template <class T>
// NOLINTNEXTLINE(performance-unnecessary-value-param): moved
[[nodiscard]] Section<T> not_observed(Status status, std::string reason) {
  Section<T> section;
  section.status = status;
  section.reason = std::move(reason);
  return section;
}

template <class T>
[[nodiscard]] Section<T> not_observed(std::string reason) {
  return not_observed<T>(Status::error, std::move(reason));
}

// Whether an operation failed because muster had no memory or descriptors, which says nothing about
// its object. `error` ends with the system's text, as those of os_error() and dlopen() do.
[[nodiscard]] bool is_own_lack(const Error& error);

// Reads the first line, printable and of bounded length.
[[nodiscard]] Result<std::string> read_text(const Root& root, std::string_view path);

// Reads the whole file; an empty file is an error.
[[nodiscard]] Result<std::string> read_filled(const Root& root, std::string_view path);

// Parses the first line; an error of `parse` is reported with the path.
template <class Parse>
[[nodiscard]] auto read_and_parse(const Root& root, std::string_view path, const Parse& parse)
    -> decltype(parse(std::string_view())) {
  TRY_ASSIGN(const auto line, root.read_line(path));
  auto value = parse(line);
  if (!value) return make_error("read {}: {}", path, value.error().message);
  return value;
}

// Reads the first line as a number; read_scaled() divides it by `per_unit`.
[[nodiscard]] Result<std::uint64_t> read_unsigned(const Root& root, std::string_view path);
[[nodiscard]] Result<std::int64_t> read_signed(const Root& root, std::string_view path);
[[nodiscard]] Result<double> read_scaled(const Root& root, std::string_view path, double per_unit);

// Reads the real user of the process or thread in a folder of /proc.
[[nodiscard]] Result<std::uint64_t> read_user(const Root& root, std::string_view folder);

// Calls stat(2). `flags` are those of open(2): O_NOFOLLOW for a link itself.
[[nodiscard]] Result<struct stat> status_of(const Descriptor& opened, std::string_view path);
[[nodiscard]] Result<struct stat> read_status(const Root& root, std::string_view path,
                                              int flags = 0);

// A field of /proc/self/status, such as "Seccomp"; empty if it is not known.
[[nodiscard]] std::string status_field(const Root& root, std::string_view name);

// A bit for each capability that this process has.
[[nodiscard]] std::uint64_t effective_capabilities(const Root& root);

// Whether this process may lock memory without a limit.
[[nodiscard]] bool has_ipc_lock(const Root& root);

// Seconds since the node was started.
[[nodiscard]] Result<double> read_uptime(const Root& root);

// Reads at most the first `max_bytes` of a file; a longer file is not an error.
[[nodiscard]] Result<std::string> read_head(const Root& root, std::string_view path,
                                            std::size_t max_bytes);

// Read "32.0 GT/s PCIe" and "16" of a PCI device's link; absent if the kernel reports that they are
// unknown, as in many guests.
[[nodiscard]] Fact<double> read_link_speed(const Root& root, const std::string& path);
[[nodiscard]] Fact<unsigned> read_link_width(const Root& root, const std::string& path);

// PCI base classes and subclasses of the devices that muster reads.
namespace pci_class {

inline constexpr unsigned kAmd = 0x1002;

inline constexpr unsigned kNetworkBase = 0x02;  // the upper half of every network class
inline constexpr unsigned kNvme = 0x0108;
inline constexpr unsigned kEthernet = 0x0200;
inline constexpr unsigned kInfiniband = 0x0207;
inline constexpr unsigned kSerialInfiniband = 0x0c06;  // older HCAs
inline constexpr unsigned kVga = 0x0300;
inline constexpr unsigned kDisplay3d = 0x0302;
inline constexpr unsigned kOtherDisplay = 0x0380;  // one generation of AMD accelerators
inline constexpr unsigned kOtherBridge = 0x0680;   // NVIDIA's NVSwitch
inline constexpr unsigned kAccelerator = 0x1200;

// Whether a device is a GPU, as opposed to a board's graphics controller.
[[nodiscard]] constexpr bool is_gpu(unsigned class_and_subclass, unsigned vendor) {
  const bool display = class_and_subclass == kVga || class_and_subclass == kDisplay3d ||
                       class_and_subclass == kOtherDisplay || class_and_subclass == kAccelerator;
  return display && (vendor == kNvidiaVendor || vendor == kAmd);
}

}  // namespace pci_class

// Whether `text` is domain, bus, device and function: "0001:00:00.0". A domain has four digits, or
// up to eight with VMD and some hypervisors.
[[nodiscard]] bool is_pci_address(std::string_view text);

// Returns the PCI function that a `device` link leads to or is below (virtio); missing if there is
// none.
[[nodiscard]] Result<std::string> read_pci_address(const Root& root, std::string_view device_link);

}  // namespace muster
