// SPDX-License-Identifier: Apache-2.0
// Expected failures are values. Becomes std::expected with C++23; same member functions.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

struct Error {
  std::string message;   // operation, object, cause: "read /sys/…/rate: Permission denied"
  bool missing = false;  // the object does not exist, as opposed to: it exists and cannot be used
  bool broken = false;   // a device, or its driver, says that the hardware does not work

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> make_error(std::string message) {
  return tl::unexpected<Error>(Error{.message = std::move(message)});
}

[[nodiscard]] inline tl::unexpected<Error> make_missing(std::string message) {
  return tl::unexpected<Error>(Error{.message = std::move(message), .missing = true});
}

// "Permission denied": what an errno means.
[[nodiscard]] std::string errno_text(int code);

// "read /dev/kmsg: Permission denied": what was refused, on what, and an errno.
[[nodiscard]] tl::unexpected<Error> os_error(std::string_view operation, std::string_view object,
                                             int code);

// Puts the value, where there is one, into `target`.
template <class Target, class Value>
[[nodiscard]] Result<void> put(Target& target, Result<Value> value) {
  if (!value) return tl::unexpected(std::move(value.error()));
  target = static_cast<Target>(*std::move(value));
  return {};
}

}  // namespace muster
