// SPDX-License-Identifier: Apache-2.0
// Access to a node under repair: its own reports, and the few fixed commands that change it. Each
// command is a list of arguments with a deadline; no text from a finding is passed to a shell.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"
#include "lib/repair/record.hpp"
#include "lib/report/report.hpp"

namespace muster::repair {

inline constexpr std::chrono::seconds kEvidenceTime{120};

// How a command that changes the node ended.
struct ActionOutcome {
  State state = State::ambiguous;  // `succeeded` still has to be confirmed by the check
  std::string why;
};

class NodeAccess {
 public:
  // `by` is ssh, local, or a site's program that gets the node and a command.
  NodeAccess(std::string by, std::string node, Variables variables);

  // Runs the check on the node.
  [[nodiscard]] Result<Report> check(const std::string& check) const;
  // Returns the number of processes on all GPUs; nothing if that is unknown.
  [[nodiscard]] std::optional<std::size_t> processes() const;
  // Returns the path of the bundle.
  [[nodiscard]] Result<std::string> collect_evidence() const;

  [[nodiscard]] ActionOutcome restart(const std::string& unit) const;
  // `gpu` is a PCI address or an index. Persistence mode is off during the reset, because the
  // driver refuses to reset a GPU that a client holds.
  [[nodiscard]] ActionOutcome reset_gpu(const std::string& gpu) const;

 private:
  [[nodiscard]] Result<Ended> run(const std::vector<std::string>& words,
                                  std::chrono::seconds time) const;

  std::string by_, node_, muster_;
  Variables variables_;
};

}  // namespace muster::repair
