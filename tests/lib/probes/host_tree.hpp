// SPDX-License-Identifier: Apache-2.0
// Parts of a small healthy node as files.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {

template <class T>
void PrintTo(const Section<T>& section, std::ostream* out) {
  *out << section_to_json(section);
}

inline Root root_of(const TempDir& tree) { return Root::below(tree.path()).value(); }

// Writes files of one folder: name and text.
void write_files(const TempDir& tree, std::string_view folder,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> files);

// One record of Hyper-V's key-value pool.
std::string kvp_record(std::string_view key, std::string_view value);

// A line of proc/<pid>/stat.
std::string stat_line(unsigned pid, std::string_view name, char state, unsigned start_ticks);

void write_identity(const TempDir& tree);  // an Azure VM
void write_cpus(const TempDir& tree);      // two sockets, NUMA nodes; two cores of two threads each
void write_memory(const TempDir& tree);    // huge pages of one size
void write_mounts(const TempDir& tree);    // a local root and a server's export
void write_disks(const TempDir& tree);     // one NVMe device, one md array
void write_processes(const TempDir& tree);  // one sleeps, one is stuck
void write_services(const TempDir& tree);   // three that run, one that has stopped
void write_network(const TempDir& tree);    // eth0 and ib0

// A test of one probe on the files that the functions `Write` make.
template <auto Probe, auto... Write>
class ProbeTest : public ::testing::Test {
 protected:
  ProbeTest() { (Write(tree_), ...); }

  [[nodiscard]] auto probe() const { return Probe(root_of(tree_)); }

  TempDir tree_;
};

}  // namespace muster
