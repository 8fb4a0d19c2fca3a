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
  Fact<bool> link;
  Fact<std::uint64_t> owner, group;  // of what a link leads to, as the times are
  Fact<std::uint64_t> accessed_s, modified_s, changed_s;
  Fact<Space> space;           // of the file system it lies on
  Fact<std::string> contents;  // read only where somebody asks for them

  MUSTER_FIELDS(
      FileFact,
      MUSTER_FIELD(path, "as the profile names it"),
      MUSTER_FIELD(exists, "it exists"),
      MUSTER_FIELD(executable, "a regular file with an execute bit"),
      MUSTER_FIELD(directory, "it is a directory"),
      MUSTER_FIELD(writable, "a write bit is set and the file system is not read-only"),
      MUSTER_FIELD(type,
                   "of what a link leads to: regular, directory, character, block, fifo, socket"),
      MUSTER_FIELD(mode, "permissions, as one decimal number"),
      MUSTER_FIELD(size_bytes, "size"),
      MUSTER_FIELD(read_only, "the file system it lies on takes no writes"),
      MUSTER_FIELD(link, "it is a symbolic link"),
      MUSTER_FIELD(owner, "user id"),
      MUSTER_FIELD(group, "group id"),
      MUSTER_FIELD(accessed_s, "last access, seconds since 1970"),
      MUSTER_FIELD(modified_s, "last change of its contents"),
      MUSTER_FIELD(changed_s, "last change of its inode"),
      MUSTER_FIELD(space, "of the file system it lies on"),
      MUSTER_FIELD(contents, "its text; absent where nobody asked for it"));
};

struct NcclSetting {
  std::string name;
  std::string value;
  std::string origin;  // "/etc/nccl.conf:3" or "environment"

  MUSTER_FIELDS(NcclSetting,
                MUSTER_FIELD(name, "variable"),
                MUSTER_FIELD(value, "value"),
                MUSTER_FIELD(origin, "file and line, or environment"));
};

struct NcclTopology {
  std::string path;
  std::string origin;  // who names it: profile, environment, /etc/nccl.conf:2
  std::vector<std::string> pci_addresses;
  std::vector<std::string> cpu_affinities;  // "<numa id>=<mask>" of each cpu element

  MUSTER_FIELDS(NcclTopology,
                MUSTER_FIELD(path, "the topology file"),
                MUSTER_FIELD(origin, "who names it"),
                MUSTER_FIELD(pci_addresses, "PCI devices in it (switches left out)"),
                MUSTER_FIELD(cpu_affinities, "NUMA node=mask of its cpu elements"));
};

struct Library {
  std::string name;  // libnccl.so.2
  bool opened = false;
  std::string error;    // why not
  std::string version;  // where the library tells ("2.28.3")

  MUSTER_FIELDS(Library,
                MUSTER_FIELD(name, "soname"),
                MUSTER_FIELD(opened, "dlopen succeeded"),
                MUSTER_FIELD(error, "why it did not"),
                MUSTER_FIELD(version, "where the library tells it"));
};

// A command of a line of NHC's configuration that the site lets muster run.
struct CommandFact {
  std::vector<std::string> words;  // the line's, the first as it is written there
  std::string program;             // that was run; empty where none was
  Fact<int> status;                // as shells count; absent where it may not be run
  bool timed_out = false;          // it did not end within the time that the line allows
  Fact<std::string> output;        // its standard output

  MUSTER_FIELDS(CommandFact,
                MUSTER_FIELD(words, "the command and its arguments, as the line has them"),
                MUSTER_FIELD(program, "the program that was run; empty where none was"),
                MUSTER_FIELD(status, "its exit status; absent where the site does not allow it"),
                MUSTER_FIELD(timed_out, "it did not end within the time that the line allows"),
                MUSTER_FIELD(output, "what it printed to its standard output"));
};

struct Environment {
  Fact<std::vector<NcclSetting>> nccl;     // files first, then the environment, which wins
  Fact<NcclTopology> nccl_topology;        // absent when nobody names a file
  std::vector<FileFact> files;             // programs and paths that the profile names
  Fact<std::vector<Library>> libraries;    // absent below a foreign root
  std::vector<CommandFact> commands;       // that lines of NHC's configuration name
  std::map<std::string, std::string> job;  // SLURM_JOB_ID, SLURM_JOB_GPUS, CUDA_VISIBLE_DEVICES …

  MUSTER_FIELDS(Environment,
                MUSTER_FIELD(nccl, "NCCL settings of files and environment, in order of strength"),
                MUSTER_FIELD(nccl_topology, "NCCL's topology file"),
                MUSTER_FIELD(files, "files and programs that the profile names"),
                MUSTER_FIELD(libraries, "libraries that jobs need"),
                MUSTER_FIELD(commands, "commands that lines of NHC's configuration name"),
                MUSTER_FIELD(job, "the job on whose behalf this runs"));
};

}  // namespace muster
