// SPDX-License-Identifier: Apache-2.0
// Facts about the environment that jobs meet: NCCL's settings, files, libraries and the job
// itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/mounts.hpp"

namespace muster {

// A file that somebody names: the profile, or a line of NHC's configuration.
struct FileFact {
  MUSTER_DESCRIBED(FileFact);
  MUSTER_FIELD(std::string, path, "as the profile names it");
  MUSTER_FIELD(bool, exists, "it exists") = false;
  MUSTER_FIELD(bool, executable, "a regular file with an execute bit") = false;
  MUSTER_FIELD(bool, directory, "it is a directory") = false;
  MUSTER_FIELD(Fact<bool>, writable, "a write bit is set and the file system is not read-only");
  MUSTER_FIELD(Fact<std::string>, type,
               "of what a link leads to: regular, directory, character, block, fifo, socket");
  // Its permissions, with set-user-id, set-group-id and the sticky bit.
  MUSTER_FIELD(Fact<unsigned>, mode, "permissions, as one decimal number");
  MUSTER_FIELD(Fact<std::uint64_t>, size_bytes, "size");
  MUSTER_FIELD(Fact<bool>, read_only, "the file system it lies on takes no writes");
  MUSTER_FIELD(Fact<bool>, link, "it is a symbolic link");
  MUSTER_FIELD(Fact<std::uint64_t>, owner, "user id");  // of what a link leads to, as the times are
  MUSTER_FIELD(Fact<std::uint64_t>, group, "group id");
  MUSTER_FIELD(Fact<std::uint64_t>, accessed_s, "last access, seconds since 1970");
  MUSTER_FIELD(Fact<std::uint64_t>, modified_s, "last change of its contents");
  MUSTER_FIELD(Fact<std::uint64_t>, changed_s, "last change of its inode");
  MUSTER_FIELD(Fact<Space>, space, "of the file system it lies on");
  MUSTER_FIELD(Fact<std::string>, contents, "its text; absent where nobody asked for it");
};

struct NcclSetting {
  MUSTER_DESCRIBED(NcclSetting);
  MUSTER_FIELD(std::string, name, "variable");
  MUSTER_FIELD(std::string, value, "value");
  // "/etc/nccl.conf:3" or "environment".
  MUSTER_FIELD(std::string, origin, "file and line, or environment");
};

struct NcclTopology {
  MUSTER_DESCRIBED(NcclTopology);
  MUSTER_FIELD(std::string, path, "the topology file");
  // Who names it: profile, environment, /etc/nccl.conf:2.
  MUSTER_FIELD(std::string, origin, "who names it");
  MUSTER_FIELD(std::vector<std::string>, pci_addresses, "PCI devices in it (switches left out)");
  MUSTER_FIELD(std::vector<std::string>, cpu_affinities, "NUMA node=mask of its cpu elements");
};

struct Library {
  MUSTER_DESCRIBED(Library);
  MUSTER_FIELD(std::string, name, "soname");
  MUSTER_FIELD(bool, opened, "dlopen succeeded") = false;
  MUSTER_FIELD(std::string, error, "why it did not");
  MUSTER_FIELD(std::string, version, "where the library tells it");
};

// A command of a line of NHC's configuration that the site lets muster run.
struct CommandFact {
  MUSTER_DESCRIBED(CommandFact);
  MUSTER_FIELD(std::vector<std::string>, words,
               "the command and its arguments, as the line has them");
  MUSTER_FIELD(std::string, program, "the program that was run; empty where none was");
  // As shells count; absent where it may not be run.
  MUSTER_FIELD(Fact<int>, status, "its exit status; absent where the site does not allow it");
  MUSTER_FIELD(bool, timed_out, "it did not end within the time that the line allows") = false;
  MUSTER_FIELD(Fact<std::string>, output, "what it printed to its standard output");
};

struct Environment {
  MUSTER_DESCRIBED(Environment);
  // Files first, then the environment, which wins.
  MUSTER_FIELD(Fact<std::vector<NcclSetting>>, nccl,
               "NCCL settings of files and environment, in order of strength");
  // Absent when nobody names a file.
  MUSTER_FIELD(Fact<NcclTopology>, nccl_topology, "NCCL's topology file");
  MUSTER_FIELD(std::vector<FileFact>, files, "files and programs that the profile names");
  // Absent below a foreign root.
  MUSTER_FIELD(Fact<std::vector<Library>>, libraries, "libraries that jobs need");
  MUSTER_FIELD(std::vector<CommandFact>, commands,
               "commands that lines of NHC's configuration name");
  // SLURM_JOB_ID, SLURM_JOB_GPUS, CUDA_VISIBLE_DEVICES …
  MUSTER_FIELD(ByName<std::string>, job, "the job on whose behalf this runs");
};

}  // namespace muster
