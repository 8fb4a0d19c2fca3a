// SPDX-License-Identifier: Apache-2.0
// One observed value, or the reason why there is none. "Could not be read" is never a zero: a check
// has to look at the state before it can reach the value.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "lib/base/result.hpp"

namespace muster {

template <class T>
class Fact {
 public:
  // Nothing was observed; what a probe leaves out reads so.
  Fact() = default;

  // NOLINTNEXTLINE(google-explicit-constructor): facts are written as plain values.
  Fact(T value) : value_(std::move(value)) {}

  // A failed read is the reason why the fact is missing.
  // NOLINTNEXTLINE(google-explicit-constructor): results of reads are facts as they are.
  Fact(Result<T> result) {
    if (result) {
      value_ = std::move(*result);
    } else {
      why_ = std::move(result.error().message);
      absent_ = result.error().missing;
    }
  }

  // This node does not offer the value (no such file, no such feature).
  [[nodiscard]] static Fact absent(std::string why) { return Fact(std::move(why), true); }

  // The node offers the value, and it could not be read or understood.
  [[nodiscard]] static Fact unreadable(std::string why) { return Fact(std::move(why), false); }

  // What a failed read means: absent where nothing is there, else unreadable.
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
