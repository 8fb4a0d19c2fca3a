// SPDX-License-Identifier: Apache-2.0
// Reaches the host from a container. The program itself stays in the container, with its files;
// only its probes join the host.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"

namespace muster {

// The mount, network, UTS and IPC namespaces of PID 1.
class HostNamespaces {
 public:
  // Nothing if this process is already in them. An error names everything that the container lacks.
  [[nodiscard]] static Result<std::optional<HostNamespaces>> open();

  // Moves this process, which must have one thread, to the first `count` namespaces.
  [[nodiscard]] Result<void> join(std::size_t count = kCount) const;

 private:
  static constexpr std::size_t kCount = 4;
  std::array<Descriptor, kCount> opened_;
};

// In a container, starts this program again with the host's dynamic linker and C library, which
// find the libraries of the host: the container's may be older, and do not know its library
// folders. Returns on an error, and on the host itself. `arguments` are without the program's name.
[[nodiscard]] Result<void> restart_with_libraries_of_host(std::span<const char* const> arguments,
                                                          const Variables& variables);

// In a program that was restarted this way, returns to the container, removes the argument that
// marks the restart, and returns true.
[[nodiscard]] Result<bool> return_to_container(std::span<const char* const>& arguments);

}  // namespace muster
