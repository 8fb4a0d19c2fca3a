// SPDX-License-Identifier: Apache-2.0
// Written nodes on disk, examined by the real probes and judged by the real checks in this process.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/report.hpp"
#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::e2e {

// A directory that shows one tree after the other; only what differs is written.
class Stage {
 public:
  void show(nodes::Tree tree);

  [[nodiscard]] std::filesystem::path root() const { return dir_.path() / "node"; }

  // What stands in for the driver's library; empty where the node has no GPU.
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

// As `muster check --root` does it, every check selected.
[[nodiscard]] Examination examine(const std::filesystem::path& root, const Request& request);

// The profile that the node's hardware calls for; nothing else is looked at.
[[nodiscard]] std::string profile_of(const std::filesystem::path& root);

// Adds what `examination` saw to the state that later examinations start from.
void remember(const std::filesystem::path& state, const Snapshot& snapshot);

// All that is neither pass nor skip: "fail ib.state mlx5_ib3".
[[nodiscard]] std::vector<std::string> concerns(const Report& report);
// The same with the messages, for people.
[[nodiscard]] std::string explain(const Report& report);

[[nodiscard]] nodes::NodeDescription node_named(std::string_view name);

// What a command of the shell writes.
[[nodiscard]] std::string output_of(const std::string& command);

// How full the file system is that written nodes lie on: statfs answers for it below every root, so
// that no test can judge host.disk on a machine whose own disk is full.
[[nodiscard]] bool disk_has_room();

}  // namespace muster::e2e
