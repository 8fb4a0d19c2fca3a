// SPDX-License-Identifier: Apache-2.0
// Names of nodes.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// MUSTER_HOSTNAME, for containers that share a node or hide its name, else the kernel's name.
[[nodiscard]] std::string host_name();

// Whether `text` can be the name of a host, and a part of a path or an argument.
[[nodiscard]] bool is_host_name(std::string_view text);

// "gpu-0007" for "gpu-0007.cluster.example".
[[nodiscard]] constexpr std::string_view without_domain(std::string_view host) {
  return host.substr(0, host.find('.'));
}

}  // namespace muster
