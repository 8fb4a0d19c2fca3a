// SPDX-License-Identifier: Apache-2.0

#include "repair/collectors.hpp"

namespace muster::repair {

using std::chrono::seconds;

Collector own_report(const std::filesystem::path& muster, const std::string& root,
                     const std::filesystem::path& work) {
  constexpr std::string_view kSnapshotFile = "snapshot.json";
  return {.name = "muster",
          .program = muster.string(),
          .arguments = {"check", "--format", "json", "--verbose", "--root", root, "--save-snapshot",
                        (work / kSnapshotFile).string()},
          .deadline = seconds(45),
          .share = 20 * kMega,
          .file = std::string(kReportFile),
          .written = {std::string(kSnapshotFile)},
          .most_status = 2};
}

std::vector<Collector> collectors(const std::string& node, const std::filesystem::path& work) {
  // Keeps the end of a log, which is its newest part.
  const std::vector<std::string> journal{"--no-pager", "--quiet", "--output=short-iso-precise",
                                         "--lines=100000"};
  const auto of_journal = [&](std::string name, std::vector<std::string> which) {
    which.insert(which.end(), journal.begin(), journal.end());
    auto file = name + ".txt";
    return Collector{.name = std::move(name),
                     .program = "journalctl",
                     .arguments = std::move(which),
                     .deadline = seconds(30),
                     .share = 15 * kMega,
                     .file = std::move(file)};
  };
  return {
      {.name = "nvidia_bug_report",
       .program = "nvidia-bug-report.sh",
       .arguments = {"--output-file", (work / "nvidia-bug-report.log").string()},
       .deadline = seconds(120),
       .share = 30 * kMega,
       .written = {"nvidia-bug-report.log.gz", "nvidia-bug-report.log"}},
      of_journal("kernel_log", {"--dmesg", "--boot=0"}),
      of_journal("kernel_log_last_boot", {"--dmesg", "--boot=-1"}),
      of_journal("services", {"--boot=0", "--unit=nvidia-fabricmanager", "--unit=nvidia-imex",
                              "--unit=nvidia-persistenced", "--unit=openibd"}),
      {"dmesg", "dmesg", {}, seconds(20), 5 * kMega, "dmesg.txt"},
      {"nvidia_smi", "nvidia-smi", {"-q"}, seconds(60), 5 * kMega, "nvidia-smi-q.txt"},
      {"nvlink", "nvidia-smi", {"nvlink", "-s"}, seconds(60), kMega, "nvlink-status.txt"},
      {"nvlink_errors", "nvidia-smi", {"nvlink", "-e"}, seconds(60), kMega, "nvlink-errors.txt"},
      {"fabric_manager",
       "tail",
       {"--bytes=5000000", "/var/log/fabricmanager.log"},
       seconds(20),
       5 * kMega,
       "fabricmanager.log"},
      {"ibstat", "ibstat", {}, seconds(30), kMega, "ibstat.txt"},
      {"hca_counters",
       "sh",
       {"-c",
        "exec grep -s '' /sys/class/infiniband/*/fw_ver /sys/class/infiniband/*/ports/*/*state "
        "/sys/class/infiniband/*/ports/*/counters/* /sys/class/infiniband/*/ports/*/hw_counters/*"},
       seconds(30),
       2 * kMega,
       "hca-counters.txt"},
      {"lspci", "lspci", {"-vvv"}, seconds(30), 5 * kMega, "lspci.txt"},
      // Only their ids.
      {std::string(kJobs),
       "sacct",
       {"--nodelist", node, "--allocations", "--noheader", "--parsable2", "--format=JobIDRaw",
        "--starttime=now-7days"},
       seconds(20),
       kMega,
       "slurm-jobs.txt"},
  };
}

}  // namespace muster::repair
