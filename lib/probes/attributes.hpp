// SPDX-License-Identifier: Apache-2.0
// Short ways to turn a small file of sysfs or procfs into a fact, shared by the probes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/fact.hpp"
#include "lib/base/result.hpp"
#include "lib/base/root.hpp"
#include "lib/node/section.hpp"

namespace muster {

// For files that every Linux has: that one is missing is no property of the node but a failure to
// observe it.
template <class T>
[[nodiscard]] Fact<T> required(Result<T> result) {
  if (!result) return Fact<T>::unreadable(std::move(result.error().message));
  return Fact<T>(std::move(*result));
}

// What a probe returns when nothing could be observed.
template <class T>
// NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved from
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

// The first line, printable and of bounded length.
[[nodiscard]] Result<std::string> read_text(const Root& root, std::string_view path);
// The first line as a number.
[[nodiscard]] Result<std::uint64_t> read_unsigned(const Root& root, std::string_view path);
[[nodiscard]] Result<std::int64_t> read_signed(const Root& root, std::string_view path);

// Seconds since the node was started.
[[nodiscard]] Result<double> read_uptime(const Root& root);

// At most the first `max_bytes` of a file that may be long; no error when there is more.
[[nodiscard]] Result<std::string> read_head(const Root& root,
                                            std::string_view path,
                                            std::size_t max_bytes);

// "32.0 GT/s PCIe" and "16" of a PCI device's link; absent where the kernel says that it does not
// know, as in many guests.
[[nodiscard]] Fact<double> read_link_speed(const Root& root, const std::string& path);
[[nodiscard]] Fact<unsigned> read_link_width(const Root& root, const std::string& path);

// The PCI function that a `device` link leads to or sits below (virtio), as "0001:00:00.0"; missing
// when there is none.
[[nodiscard]] Result<std::string> read_pci_address(const Root& root, std::string_view device_link);

}  // namespace muster
