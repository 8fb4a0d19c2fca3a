// SPDX-License-Identifier: Apache-2.0
// Files below a root directory. Probes reach the machine only through this, so that another node's
// tree can replace the host's own. Absolute links stay inside the root.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster {

class Root {
 public:
  static constexpr std::size_t kSmallFile =
      64UL * 1024;  // no attribute in sysfs or procfs is larger

  // The root of this host.
  Root();
  // A foreign root. Fails if `path` is not a directory, or without openat2 (Linux 5.6).
  [[nodiscard]] static Result<Root> below(const std::filesystem::path& path);

  [[nodiscard]] bool foreign() const { return foreign_; }

  // "/" or the foreign directory, for libraries that take a root themselves (hwloc, libibverbs).
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Returns the whole content. Paths are as on the node, with or without the leading slash:
  // "/sys/class/net" or "sys/class/net". An error for more than `max_bytes`, and for a FIFO or
  // device.
  [[nodiscard]] Result<std::string> read(std::string_view path,
                                         std::size_t max_bytes = kSmallFile) const;
  // The first line without trailing blanks; an empty file is an error.
  [[nodiscard]] Result<std::string> read_line(std::string_view path) const;
  // Names in the directory, sorted, without "." and ".."; more than `most` is an error.
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path,
                                                      std::size_t most = 65536) const;
  // The target of the link at `path`, unresolved.
  [[nodiscard]] Result<std::string> read_link(std::string_view path) const;
  // Resolves all links of `path`, to a path inside the root ("/sys/devices/pci0000:00/…").
  [[nodiscard]] Result<std::string> resolve(std::string_view path) const;
  [[nodiscard]] bool exists(std::string_view path) const;
  // Opens with O_CLOEXEC and `flags`, for uses that the functions above do not cover: statfs,
  // access, records of the kernel log.
  [[nodiscard]] Result<Descriptor> open(std::string_view path, int flags) const;

 private:
  Root(std::filesystem::path path, Descriptor directory, bool foreign);

  std::filesystem::path path_;
  Descriptor directory_;
  bool foreign_ = false;
};

}  // namespace muster
