// SPDX-License-Identifier: Apache-2.0
// An open file, pipe or directory by its number.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

// Closes what it holds, and with it any lock on it. Holds nothing where the number is negative, so
// that the result of open() can be passed in as it is.
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

// Calls read(2), and again where a signal interrupts it. Returns what read(2) returns.
[[nodiscard]] ssize_t read_some(int descriptor, char* into, std::size_t size);

// Appends what there is to read, to its end or until `into` holds more than `most` bytes. Returns 0
// then, else an errno: EAGAIN where a descriptor that does not block has nothing more now.
[[nodiscard]] int read_all(int descriptor, std::string& into, std::size_t most);

// Writes all of `content`. Returns 0, or the errno of what went wrong.
[[nodiscard]] int write_all(int descriptor, std::string_view content);

}  // namespace muster
