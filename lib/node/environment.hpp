// SPDX-License-Identifier: Apache-2.0
// Facts about the environment that jobs meet: NCCL's settings, files, libraries and the job
// itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/mounts.hpp"

namespace muster {

// A file that somebody names: the profile, or a line of NHC's configuration.
struct FileFact {
  std::string path;
  bool exists = false;
  bool executable = false;  // a regular file somebody may execute
  bool directory = false;
  Fact<bool> writable;  // file system not read-only and some write bit set
  Fact<std::string> type;
  Fact<unsigned> mode;  // its permissions, with set-user-id, set-group-id and the sticky bit
  Fact<std::uint64_t> size_bytes;
  Fact<bool> read_only;
  Fact<Space> space;  // of the file system it lies on

  template <class Self = FileFact>
  static constexpr auto fields() {
    return std::tuple{
        field("path", &Self::path, "as the profile names it"),
        field("exists", &Self::exists, "it exists"),
        field("executable", &Self::executable, "a regular file with an execute bit"),
        field("directory", &Self::directory, "it is a directory"),
        field(
            "writable", &Self::writable, "a write bit is set and the file system is not read-only"),
        field("type",
              &Self::type,
              "of what a link leads to: regular, directory, character, block, fifo, socket"),
        field("mode", &Self::mode, "permissions, as one decimal number"),
        field("size_bytes", &Self::size_bytes, "size"),
        field("read_only", &Self::read_only, "the file system it lies on takes no writes"),
        field("space", &Self::space, "of the file system it lies on")};
  }

  bool operator==(const FileFact&) const = default;
};

struct NcclSetting {
  std::string name;
  std::string value;
  std::string origin;  // "/etc/nccl.conf:3" or "environment"

  template <class Self = NcclSetting>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "variable"),
                      field("value", &Self::value, "value"),
                      field("origin", &Self::origin, "file and line, or environment")};
  }

  bool operator==(const NcclSetting&) const = default;
};

struct NcclTopology {
  std::string path;
  std::string origin;  // who names it: profile, environment, /etc/nccl.conf:2
  std::vector<std::string> pci_addresses;
  std::vector<std::string> cpu_affinities;  // "<numa id>=<mask>" of each cpu element

  template <class Self = NcclTopology>
  static constexpr auto fields() {
    return std::tuple{
        field("path", &Self::path, "the topology file"),
        field("origin", &Self::origin, "who names it"),
        field("pci_addresses", &Self::pci_addresses, "PCI devices in it (switches left out)"),
        field("cpu_affinities", &Self::cpu_affinities, "NUMA node=mask of its cpu elements")};
  }

  bool operator==(const NcclTopology&) const = default;
};

struct Library {
  std::string name;  // libnccl.so.2
  bool opened = false;
  std::string error;    // why not
  std::string version;  // where the library tells ("2.28.3")

  template <class Self = Library>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "soname"),
                      field("opened", &Self::opened, "dlopen succeeded"),
                      field("error", &Self::error, "why it did not"),
                      field("version", &Self::version, "where the library tells it")};
  }

  bool operator==(const Library&) const = default;
};

struct Environment {
  Fact<std::vector<NcclSetting>> nccl;     // files first, then the environment, which wins
  Fact<NcclTopology> nccl_topology;        // absent when nobody names a file
  std::vector<FileFact> files;             // programs and paths that the profile names
  Fact<std::vector<Library>> libraries;    // absent below a foreign root
  std::map<std::string, std::string> job;  // SLURM_JOB_ID, SLURM_JOB_GPUS, CUDA_VISIBLE_DEVICES …

  template <class Self = Environment>
  static constexpr auto fields() {
    return std::tuple{
        field("nccl", &Self::nccl, "NCCL settings of files and environment, in order of strength"),
        field("nccl_topology", &Self::nccl_topology, "NCCL's topology file"),
        field("files", &Self::files, "files and programs that the profile names"),
        field("libraries", &Self::libraries, "libraries that jobs need"),
        field("job", &Self::job, "the job on whose behalf this runs")};
  }

  bool operator==(const Environment&) const = default;
};

}  // namespace muster
