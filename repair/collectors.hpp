// SPDX-License-Identifier: Apache-2.0
// The programs whose output makes up the evidence.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace muster::repair {

struct Collector {
  std::string name;
  std::string program;  // in PATH, or an absolute path
  std::vector<std::string> arguments;
  std::chrono::seconds deadline;
  std::size_t share;                      // maximum size of each of its files, in bytes
  std::string file = {};                  // for its standard output; empty: discarded
  std::vector<std::string> written = {};  // files that it writes into the work folder
  int most_status = 0;                    // exit statuses up to this one mean success
};

inline constexpr std::size_t kMega = 1000UL * 1000;
inline constexpr std::size_t kLargestBundle = 200 * kMega;  // before compression
inline constexpr std::size_t kBenchShare = 20 * kMega;

inline constexpr std::string_view kReportFile = "report.json";
inline constexpr std::string_view kJobs = "slurm_jobs";

// Runs before all others.
[[nodiscard]] Collector own_report(const std::filesystem::path& muster, const std::string& root,
                                   const std::filesystem::path& work);

[[nodiscard]] std::vector<Collector> collectors(const std::string& node,
                                                const std::filesystem::path& work);

}  // namespace muster::repair
