// SPDX-License-Identifier: Apache-2.0
// An observed value, or the reason why there is none. A value that could not be read is never a
// zero: a check must test the state first.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "lib/base/result.hpp"

namespace muster {

template <class T>
class Fact {
 public:
  // Not observed: the state of every fact that a probe does not fill.
  Fact() = default;

  // NOLINTNEXTLINE(google-explicit-constructor): facts are written as plain values.
  Fact(T value) : value_(std::move(value)) {}

  // NOLINTNEXTLINE(google-explicit-constructor): the result of a read is a fact.
  Fact(Result<T> result) {
    if (result) {
      value_ = std::move(*result);
    } else {
      why_ = std::move(result.error().message);
      absent_ = result.error().missing;
    }
  }

  // NOLINTNEXTLINE(google-explicit-constructor): so is an error.
  Fact(tl::unexpected<Error> error)
      : Fact(std::move(error.value().message), error.value().missing) {}

  // The node does not have the value: no such file, no such feature.
  [[nodiscard]] static Fact absent(std::string why) { return Fact(std::move(why), true); }

  // The node has the value, but it could not be read or parsed.
  [[nodiscard]] static Fact unreadable(std::string why) { return Fact(std::move(why), false); }

  // Absent if the error says that the object is missing, else unreadable.
  [[nodiscard]] static Fact failed(const Error& error) {
    return Fact(error.message, error.missing);
  }

  [[nodiscard]] bool known() const { return value_.has_value(); }
  [[nodiscard]] bool is_absent() const { return !value_ && absent_; }
  [[nodiscard]] bool is_unreadable() const { return !value_ && !absent_; }
  [[nodiscard]] const std::string& why() const { return why_; }
  explicit operator bool() const { return known(); }
  const T& operator*() const { return *value_; }
  T& operator*() { return *value_; }
  const T* operator->() const { return &*value_; }
  T* operator->() { return &*value_; }
  [[nodiscard]] T value_or(T fallback) const { return value_.value_or(std::move(fallback)); }

  bool operator==(const Fact&) const = default;

 private:
  Fact(std::string why, bool absent) : why_(std::move(why)), absent_(absent) {}

  std::optional<T> value_;
  std::string why_ = "not observed";
  bool absent_ = true;
};

}  // namespace muster
