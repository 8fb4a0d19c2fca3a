// SPDX-License-Identifier: Apache-2.0
// Facts about the environment of jobs: NCCL's settings, files, libraries, and the job itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/mounts.hpp"

namespace muster {

// A file that the profile names.
struct FileFact {
  MUSTER_DESCRIBED(FileFact);
  MUSTER_FIELD(std::string, path, "as written in the profile");
  MUSTER_FIELD(bool, exists, "it exists") = false;
  MUSTER_FIELD(bool, executable, "a regular file with an execute bit") = false;
  MUSTER_FIELD(bool, directory, "it is a directory") = false;
  MUSTER_FIELD(Fact<bool>, writable, "a write bit is set and the file system is not read-only");
  MUSTER_FIELD(Fact<Space>, space, "of its file system");
};

struct NcclSetting {
  MUSTER_DESCRIBED(NcclSetting);
  MUSTER_FIELD(std::string, name, "variable");
  MUSTER_FIELD(std::string, value, "value");
  MUSTER_FIELD(std::string, origin, "/etc/nccl.conf:3, or environment");
};

struct NcclTopology {
  MUSTER_DESCRIBED(NcclTopology);
  MUSTER_FIELD(std::string, path, "the topology file");
  MUSTER_FIELD(std::string, origin, "profile, environment or /etc/nccl.conf:2");
  MUSTER_FIELD(std::vector<std::string>, pci_addresses, "its PCI devices without switches");
  MUSTER_FIELD(std::vector<std::string>, cpu_affinities, "NUMA node=mask of its cpu elements");
};

struct Library {
  MUSTER_DESCRIBED(Library);
  MUSTER_FIELD(std::string, name, "soname");
  MUSTER_FIELD(bool, opened, "dlopen succeeded") = false;
  MUSTER_FIELD(std::string, error, "why it failed");
  MUSTER_FIELD(std::string, version, "empty if the library does not report it");
};

struct Environment {
  MUSTER_DESCRIBED(Environment);
  MUSTER_FIELD(Fact<std::vector<NcclSetting>>, nccl,
               "NCCL settings: files first, then the environment, which overrides them");
  MUSTER_FIELD(Fact<NcclTopology>, nccl_topology, "NCCL's topology file; absent if none is set");
  MUSTER_FIELD(std::vector<FileFact>, files, "files and programs that the profile names");
  MUSTER_FIELD(Fact<std::vector<Library>>, libraries,
               "libraries that jobs need; absent below a foreign root");
  MUSTER_FIELD(ByName<std::string>, job,
               "variables of the current job: SLURM_JOB_ID, CUDA_VISIBLE_DEVICES …");
};

}  // namespace muster
