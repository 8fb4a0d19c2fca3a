// SPDX-License-Identifier: Apache-2.0
// Expected failures are values. Result has the interface of std::expected of C++23.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

struct Error {
  std::string message;   // operation, object, cause: "read /sys/…/rate: Permission denied"
  bool missing = false;  // the object does not exist; otherwise it cannot be used
  bool broken = false;   // the device or its driver reports that the hardware does not work

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

// Formats the message: make_error("read {}: {}", path, why).
template <class Arg, class... Args>
[[nodiscard]] tl::unexpected<Error> make_error(fmt::format_string<Arg, Args...> format, Arg&& arg,
                                               Args&&... args) {
  return make_error(fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
}

template <class Arg, class... Args>
[[nodiscard]] tl::unexpected<Error> make_missing(fmt::format_string<Arg, Args...> format, Arg&& arg,
                                                 Args&&... args) {
  return make_missing(fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
}

// The text of an errno: "Permission denied".
[[nodiscard]] std::string errno_text(int code);

// Operation, object and errno: "read /dev/kmsg: Permission denied".
[[nodiscard]] tl::unexpected<Error> os_error(std::string_view operation, std::string_view object,
                                             int code);

// Like the function above, for a file, which is `missing` if its path does not exist.
[[nodiscard]] tl::unexpected<Error> file_error(std::string_view operation, std::string_view path,
                                               int code);

// Assigns the value, if there is one, to `target`.
template <class Target, class Value>
[[nodiscard]] Result<void> put(Target& target, Result<Value> value) {
  if (!value) return tl::unexpected(std::move(value.error()));
  target = static_cast<Target>(*std::move(value));
  return {};
}

}  // namespace muster

#define MUSTER_CONCAT_INNER(left, right) left##right
#define MUSTER_CONCAT(left, right) MUSTER_CONCAT_INNER(left, right)

// Evaluates a Result and returns its error from the enclosing function, if it has one.
#define TRY(...) MUSTER_TRY(MUSTER_CONCAT(muster_result_, __COUNTER__), __VA_ARGS__)
#define MUSTER_TRY(result, ...)                           \
  do {                                                    \
    if (auto result = (__VA_ARGS__); !result) {           \
      return ::tl::unexpected(std::move(result.error())); \
    }                                                     \
  } while (false)

// Like TRY, and assigns the value: TRY_ASSIGN(auto text, read_file(path));
#define TRY_ASSIGN(target, ...) \
  MUSTER_TRY_ASSIGN(MUSTER_CONCAT(muster_result_, __COUNTER__), target, __VA_ARGS__)
#define MUSTER_TRY_ASSIGN(result, target, ...)                     \
  auto result = (__VA_ARGS__);                                     \
  if (!result) return ::tl::unexpected(std::move(result.error())); \
  target = *std::move(result)
