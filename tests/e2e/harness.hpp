// SPDX-License-Identifier: Apache-2.0
// Simulated nodes on disk, examined by the real probes and judged by the real checks in this
// process.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/report.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::e2e {

// A directory that holds one tree after another; only differences are written.
class Stage {
 public:
  void show(nodes::Tree tree);

  [[nodiscard]] std::filesystem::path root() const { return dir_.path() / "node"; }

  // The fake driver library; empty if the node has no GPU.
  [[nodiscard]] std::filesystem::path nvml() const;

 private:
  TempDir dir_;
  nodes::Tree shown_;
};

struct Examination {
  Snapshot snapshot;
  Profile profile;
  Report report;
};

struct Request {
  std::string profile;                                // empty: recognised
  std::filesystem::path state;                        // folder; empty for none
  std::filesystem::path nvml;                         // library; empty for none
  std::optional<std::chrono::milliseconds> deadline;  // else the profile's
};

// Runs `muster check --root` with every check selected.
[[nodiscard]] Examination examine(const std::filesystem::path& root, const Request& request);

// Shows the node and examines it by its own profile.
[[nodiscard]] Examination examine_node(Stage& stage, const nodes::NodeDescription& node,
                                       const std::filesystem::path& state = {});

// Examines the node, changes it by `change`, and examines it again an hour later, when rates are
// judged, too.
[[nodiscard]] Examination examine_twice(
    Stage& stage, nodes::NodeDescription node,
    const std::function<void(nodes::NodeDescription&)>& change = {});

// Examines the node with a fault, after an earlier run if only that shows it.
[[nodiscard]] Examination examine_fault(Stage& stage, const nodes::NodeDescription& node,
                                        const nodes::Fault& fault, const std::string& profile);

// The profile that the node's hardware is recognised as.
[[nodiscard]] std::string profile_of(const std::filesystem::path& root);

// Adds the observation to the state that later examinations start from.
void remember(const std::filesystem::path& state, const Snapshot& snapshot);

// All findings but passes and skips: "fail ib.state mlx5_ib3".
[[nodiscard]] std::vector<std::string> concerns(const Report& report);
// The same with the messages, for people.
[[nodiscard]] std::string explain(const Report& report);

// Expects that distances from limits agree with the findings, and few series.
void expect_sound_metrics(const Examination& seen);

[[nodiscard]] nodes::NodeDescription node_named(std::string_view name);

// Whether the file system with the simulated nodes has room. statfs reports it for everything below
// a root, so host.disk cannot be tested on a machine with a full disk.
[[nodiscard]] bool disk_has_room();

// Tests that are skipped on such a machine.
class DiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!disk_has_room()) GTEST_SKIP() << "the disk with the simulated node is nearly full";
  }
};

}  // namespace muster::e2e
