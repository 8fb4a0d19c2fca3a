// SPDX-License-Identifier: Apache-2.0
// A small file that records when Slurm last showed this node in service, so that a healthy node
// need not ask slurmctld on every run. A node without the file is new to muster. Nothing else
// depends on it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "slurm/cluster/node_state.hpp"

namespace muster::slurm {

class LastLook {
 public:
  // How long a healthy node goes without asking. Limited because Slurm may apply a drain late.
  static constexpr std::chrono::hours kLasts{1};

  LastLook(const std::filesystem::path& folder, std::string_view node);

  struct Look {
    std::string boot_id;  // "-" if it is unknown
    Time at{};
  };

  // Returns nothing if the node was never seen in service, or has since been drained or found sick.
  [[nodiscard]] std::optional<Look> last() const;
  // Whether Slurm recently showed, in this boot, that muster has no drain in force.
  [[nodiscard]] bool is_recent(std::string_view boot_id, Time now) const;
  // Like the function above, for any boot.
  [[nodiscard]] bool is_recent(Time now) const;
  [[nodiscard]] Result<void> note(std::string_view boot_id, Time now) const;
  // Makes the next run ask Slurm. Works even if the disk is full.
  void forget() const;

  // Whether no hook has seen the node in Slurm yet, except to keep it out of service.
  [[nodiscard]] bool is_new() const;
  [[nodiscard]] bool is_kept_out() const;
  [[nodiscard]] Result<void> note_kept_out() const;
  // Takes that back.
  void forget_kept_out() const;

 private:
  [[nodiscard]] Result<std::string> read() const;
  [[nodiscard]] Result<void> write(std::string_view text) const;

  std::filesystem::path file_;
};

}  // namespace muster::slurm
