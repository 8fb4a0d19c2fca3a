// SPDX-License-Identifier: Apache-2.0
// A member that behaves as a value although its type is only declared where it is a member.
#pragma once

#include <memory>
#include <utility>

namespace muster {

// Copies and destroys what it owns. With `extern template class Owned<T>` after the declaration of
// T and `template class Owned<T>` in one source file, only the files that look into a T include its
// definition, and only they are compiled again when it changes.
template <class T>
class Owned {
 public:
  Owned();
  Owned(T value);  // NOLINT(google-explicit-constructor): it is its value
  Owned(const Owned& other);
  Owned(Owned&& other) noexcept;
  Owned& operator=(const Owned& other);
  Owned& operator=(Owned&& other) noexcept;
  ~Owned();

  // Compares the values.
  bool operator==(const Owned& other) const;

  T* operator->() { return value_.get(); }

  const T* operator->() const { return value_.get(); }

  T& operator*() { return *value_; }

  const T& operator*() const { return *value_; }

 private:
  std::unique_ptr<T> value_;  // none once it is moved from
};

template <class T>
Owned<T>::Owned() : value_(std::make_unique<T>()) {}

template <class T>
Owned<T>::Owned(T value) : value_(std::make_unique<T>(std::move(value))) {}

template <class T>
Owned<T>::Owned(const Owned& other) : value_(std::make_unique<T>(*other)) {}

template <class T>
Owned<T>::Owned(Owned&& other) noexcept = default;

template <class T>
Owned<T>& Owned<T>::operator=(const Owned& other) {
  value_ = std::make_unique<T>(*other);
  return *this;
}

template <class T>
Owned<T>& Owned<T>::operator=(Owned&& other) noexcept = default;

template <class T>
Owned<T>::~Owned() = default;

template <class T>
bool Owned<T>::operator==(const Owned& other) const {
  return *value_ == *other.value_;
}

}  // namespace muster
