// SPDX-License-Identifier: Apache-2.0
// `muster evidence`: collects what a provider asks for before anything is done to a sick node.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/command/output.hpp"
#include "lib/node/parts.hpp"
#include "lib/process/startup.hpp"

namespace muster::app {

struct EvidenceCommand {
  static constexpr std::string_view kName = "evidence";

  std::string output;  // empty: in the site's repair folder
  std::string node;    // empty: this host's name
  std::string root = "/";
  std::optional<Seconds> deadline;  // default: three minutes
  std::string muster = {};          // the program that checks the node; empty: this one
};

// Prints the path of the bundle. Returns exit status 0 if it was written, even if some collectors
// failed.
[[nodiscard]] int run_evidence(const EvidenceCommand& command, const Caller& caller);

// Starts `muster evidence` in the background if the site wants it after a drain. Does not wait.
[[nodiscard]] Result<void> start_evidence(const std::string& root, const std::string& node,
                                          const Variables& variables,
                                          const std::filesystem::path& muster = "/proc/self/exe");

}  // namespace muster::app

namespace muster::repair {

enum class Collected { complete, truncated, failed, timed_out, absent };

MUSTER_WORDS(Collected, "complete", "truncated", "failed", "timed_out", "absent");

struct CollectorResult {
  MUSTER_DESCRIBED(CollectorResult);
  MUSTER_REQUIRED(std::string, name, "");
  MUSTER_REQUIRED(Collected, status, "") = Collected::complete;
  MUSTER_UNLESS_EMPTY(std::string, reason, "unless it is complete");
  MUSTER_UNLESS_EMPTY(std::optional<int>, exit_status, "128 + N for signal N");
  MUSTER_FIELD(double, duration_s, "") = 0;
};

struct EvidenceFile {
  MUSTER_DESCRIBED(EvidenceFile);
  MUSTER_REQUIRED(std::string, name, "");
  MUSTER_REQUIRED(std::uint64_t, size, "bytes") = 0;
  MUSTER_REQUIRED(std::string, sha256, "");
};

struct Manifest {
  static constexpr std::string_view kSchema = "muster.evidence/1";
  MUSTER_DESCRIBED(Manifest);
  MUSTER_REQUIRED(std::string, node, "");
  MUSTER_FIELD(std::string, physical_host, "empty if the provider does not report it");
  MUSTER_FIELD(std::string, boot_id, "of the kernel");
  MUSTER_REQUIRED(std::string, started, "RFC 3339, UTC");
  MUSTER_FIELD(std::string, muster, "version");
  MUSTER_FIELD(std::vector<Part>, parts, "GPUs and HCAs with their serial numbers");
  MUSTER_FIELD(std::vector<EvidenceFile>, files, "all but this one");
  MUSTER_FIELD(std::vector<CollectorResult>, collectors, "also those that failed");
};

}  // namespace muster::repair
