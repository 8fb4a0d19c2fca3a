// SPDX-License-Identifier: Apache-2.0
// File descriptors with an owner, and how to read and write them.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

// Owns a descriptor and closes it, which also releases its locks. A negative number is none, so
// that the result of open() can be passed in directly.
class Descriptor {
 public:
  Descriptor() = default;

  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}

  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// Calls read(2), and again if a signal interrupts it. Returns its result.
[[nodiscard]] ssize_t read_some(int descriptor, char* into, std::size_t size);

// Appends the content, to its end or until `into` has more than `most` bytes. Returns 0 or an
// errno; EAGAIN if a non-blocking descriptor has no more content yet.
[[nodiscard]] int read_all(int descriptor, std::string& into, std::size_t most);

// Writes all of `content`. Returns 0 or an errno.
[[nodiscard]] int write_all(int descriptor, std::string_view content);

}  // namespace muster
