// SPDX-License-Identifier: Apache-2.0
// Arbitrary NVIDIA log lines, judged by the shipped rules: no crash, every check has a finding, and
// the state stays bounded.
#include <string>

#include "checks/catalogue.hpp"
#include "lib/profile/load.hpp"
#include "lib/state/xids.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster {
namespace {

const Profile& shipped() {
  static const Profile profile =
      load_profile({.shipped = MUSTER_SOURCE_DIR "/configs/profiles", .site = {}, .settings = {}},
                   "nd96isr_h100_v5")
          .value();
  return profile;
}

// A line that begins with `+` comes that many seconds later. Two letters stand for the driver's
// usual prefixes, so that few bytes reach far.
std::string expanded(std::string_view line) {
  if (line.starts_with('x')) return "NVRM: Xid (PCI:0001:00:00): " + std::string(line.substr(1));
  if (line.starts_with('s')) {
    return "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): " + std::string(line.substr(1));
  }
  return std::string(line);
}

Snapshot node_of(std::string_view text) {
  KernelLog log;
  std::uint64_t time_us = 0;
  for (auto line : split_lines(text)) {
    constexpr std::uint64_t kSecond = 1'000'000;
    while (line.starts_with('+')) {
      line.remove_prefix(1);
      time_us += kSecond;
    }
    log.records.push_back({.sequence = log.seen++, .time_us = time_us, .text = expanded(line)});
  }
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.boot_id = std::string("boot"), .uptime_s = 100000.0});
  snapshot.kernel_log = observed(std::move(log));
  snapshot.xids = find_xids(*snapshot.kernel_log);
  snapshot.environment = observed(Environment{.job = {{"SLURM_JOB_ID", "1"}}});
  snapshot.pci = observed(Pci{});
  return snapshot;
}

}  // namespace

void fuzz(std::string_view text) {
  Snapshot snapshot = node_of(text);
  remember_xids(snapshot.earlier, snapshot);
  const auto remembered = snapshot.earlier;
  constexpr std::size_t kMax = 1024;
  require(remembered.xids.size() <= kMax);
  remember_xids(snapshot.earlier, snapshot);
  require(snapshot.earlier == remembered);
  for (const Check* check : {&checks::gpu_xid::check, &checks::gpu_sxid::check}) {
    require(!check->judge(snapshot, shipped()).empty());
  }
}

}  // namespace muster
