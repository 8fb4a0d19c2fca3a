// SPDX-License-Identifier: Apache-2.0
// A member with value semantics whose type need not be complete where the member is declared.
#pragma once

#include <memory>
#include <utility>

namespace muster {

// Needs `extern template class Owned<T>` after the declaration of T and `template class Owned<T>`
// in one source file. Only files that use a T's members then include and depend on its definition.
template <class T>
class Owned {
 public:
  Owned();
  Owned(T value);  // NOLINT(google-explicit-constructor): acts as its value
  Owned(const Owned& other);
  Owned(Owned&& other) noexcept;
  Owned& operator=(const Owned& other);
  Owned& operator=(Owned&& other) noexcept;
  ~Owned();

  bool operator==(const Owned& other) const;

  T* operator->() { return value_.get(); }

  const T* operator->() const { return value_.get(); }

  T& operator*() { return *value_; }

  const T& operator*() const { return *value_; }

 private:
  std::unique_ptr<T> value_;  // null after a move
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
