// SPDX-License-Identifier: Apache-2.0
#include "accept/sim_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/mixing.hpp"
#include "lib/base/units.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/summary.hpp"

namespace muster::accept::sim {
namespace {

using Kind = FaultKind;
using BenchKind = bench::SimFault::Kind;

constexpr int kNodeWide = -1;
constexpr std::string_view kUsualDriver = "580.105.08";
constexpr std::string_view kOlderDriver = "570.172.08";

enum class Devices { gpus, hcas, node };

struct Limits {
  std::optional<double> expected, warn_below, fail_below;  // in the test's unit
};

template <auto kLimit, int kUnit>
Limits limits_of(const BenchLimits& limits) {
  const auto in_unit = [](const auto& limit) {
    return limit ? std::optional<double>(limit->value / std::pow(10, kUnit)) : std::nullopt;
  };
  const auto& limit = limits.*kLimit;
  return {in_unit(limit.expected), in_unit(limit.warn_below), in_unit(limit.fail_below)};
}

// A test of `muster-bench node` with a limit.
struct NodeTest {
  std::string_view check, name, quantity, what, unit;
  Devices devices;
  Limits (*limits)(const BenchLimits&);
  bool quick = true;   // also runs at the level quick
  bool judges = true;  // compares with the limits
};

using B = BenchLimits;
constexpr std::array kTests{
    NodeTest{"bench.host_copy", "gpu.copy", "host_to_device", "host to device", "GB/s",
             Devices::gpus, limits_of<&B::host_copy, 9>},
    NodeTest{"bench.gpu_memory", "gpu.memory", "gpu_triad", "triad", "GB/s", Devices::gpus,
             limits_of<&B::gpu_memory, 9>},
    NodeTest{"bench.gemm", "gpu.gemm", "gemm_bf16", "products in bf16 by cuBLASLt", "TFLOPS",
             Devices::gpus, limits_of<&B::gemm, 12>},
    NodeTest{"bench.hca_write", "ib.loopback", "hca_write", "RDMA write", "Gb/s", Devices::hcas,
             limits_of<&B::hca_write, 9>},
    NodeTest{"bench.node_all_reduce", "nccl.intra", "busbw", "all-reduce bus bandwidth", "GB/s",
             Devices::node, limits_of<&B::node_all_reduce, 9>, false}};
constexpr NodeTest kSoak{"bench.gpu_soak",        "gpu.soak", "soak_bf16",
                         "products at the end",   "TFLOPS",   Devices::gpus,
                         limits_of<&B::gemm, 12>, true,       false};

std::string device_name(Devices devices, int device) {
  if (device == kNodeWide) return "node";
  return fmt::format("{}{}", devices == Devices::hcas ? "mlx5_ib" : "gpu", device);
}

// Meanings from configs/xids.yaml. Other XIDs ask for a reset.
struct XidMeaning {
  int code;
  std::string_view meaning;
  Remedy remedy = Remedy::reset_gpu;
};
constexpr std::array kXids{XidMeaning{48, "double-bit memory error"},
                           XidMeaning{74, "NVLink error"},
                           XidMeaning{79, "fallen off the bus", Remedy::report_to_provider},
                           XidMeaning{95, "uncontained memory error"},
                           XidMeaning{119, "the GPU's own processor (GSP) does not answer"}};
constexpr std::array kRandomXids{48, 74, 79, 95, 119};

Finding judged(const NodeTest& test, const std::string& device, double value,
               const Limits& limits) {
  const bool fails = limits.fail_below && value < *limits.fail_below;
  const bool warns = limits.warn_below && value < *limits.warn_below;
  auto finding = make_finding(test.check, device,
                              fails   ? Outcome::fail
                              : warns ? Outcome::warn
                                      : Outcome::pass,
                              fmt::format("{} {:.4g} {}", test.what, value, test.unit));
  finding.observed = value;
  finding.unit = test.unit;
  if (const auto& limit = warns && !fails ? limits.warn_below : limits.fail_below) {
    finding.limit = *limit;
    finding.message +=
        fmt::format("; {} below {:.4g}", warns && !fails ? "warns" : "fails", *limit);
  }
  if (fails || warns) finding.remedy = fails ? Remedy::report_to_provider : Remedy::watch;
  return finding;
}

// The value of a healthy device: what the profile expects, unless --sim describes other hardware.
double healthy_value(const FleetWords& words, const NodeTest& test, double expected) {
  const auto& cluster = words.cluster;
  const auto usual = bench::sim_cluster_of(words.profile);
  const auto inside = [](const bench::SimCluster& each) {
    return each.link_rate.value * each.inside_efficiency();
  };
  if (test.devices == Devices::hcas)
    return expected * cluster.hca_rate.value / usual.hca_rate.value;
  const bool links = test.devices == Devices::node && inside(cluster) != inside(usual);
  return links ? inside(cluster) / kGiga : expected;
}

Finding xid_finding(int code, int gpu) {
  const auto* const known = std::ranges::find(kXids, code, &XidMeaning::code);
  const bool found = known != kXids.end();
  return make_finding("gpu.xid", device_name(Devices::gpus, gpu), Outcome::fail,
                      fmt::format("XID {}, {}", code, found ? known->meaning : "unknown"),
                      found ? known->remedy : Remedy::reset_gpu);
}

Finding failed_remap(std::string gpu) {
  auto finding = make_finding("gpu.ecc_remapped_rows", std::move(gpu), Outcome::fail,
                              "row remapping failed: a bad row had no spare row left",
                              Remedy::report_to_provider);
  finding.category = "Resource.Hpc.Unhealthy.HpcRowRemapFailure";
  return finding;
}

// Calls `visit` for each event between `from_s` and `to_s`. Events are `mean_s` apart on average.
template <class Visitor>
void for_events(std::uint64_t seed, double mean_s, double from_s, double to_s, Visitor&& visit) {
  double at = 0;
  for (std::uint64_t i = 0; at <= to_s; ++i) {
    at -= mean_s * std::log(1 - uniform_at(mixed(seed + i)));
    if (at > from_s && at <= to_s) visit(mixed(seed ^ i));
  }
}

}  // namespace

double normal_at(std::uint64_t place) {
  constexpr std::uint64_t kTwelve = 12;
  double normal = -6;
  for (std::uint64_t i = 0; i < kTwelve; ++i) normal += uniform_at(mixed(place) + i);
  return normal;
}

void finish_report(Report& report, std::string_view profile, std::int64_t ended, double seconds,
                   const std::vector<std::string>& checks) {
  const auto started = ended - std::llround(seconds);
  report.profile = profile;
  report.started = utc(started);
  report.duration_ms = 1000 * seconds;
  conclude(report, checks);
}

std::uint64_t SimNodes::place(std::size_t node, std::uint64_t which) const {
  return mixed(mixed(mixed(words_->cluster.seed) + node) + which);
}

std::string SimNodes::hex(std::size_t node, std::uint64_t which, int digits) const {
  return fmt::format("{:0{}X}", place(node, which) >> (64U - 4U * static_cast<unsigned>(digits)),
                     digits);
}

std::string SimNodes::serial_of(std::size_t node, int gpu) const {
  constexpr std::uint64_t kAll = 10'000'000'000;
  return fmt::format("165{:010}", place(node, 100 + static_cast<unsigned>(gpu)) % kAll);
}

std::int64_t SimNodes::seconds_of(std::size_t node, Stage stage) const {
  constexpr std::array<std::int64_t, kStageWords.size()> kUsual{5, 10, 280, 240, 60, 0, 120};
  if (stage == Stage::soak) return order_->plan.slice_s;
  const auto usual = kUsual[static_cast<std::size_t>(stage)];
  // Healthy nodes differ a little.
  return stage == Stage::node ? usual + static_cast<std::int64_t>(place(node, 1) % 20) : usual;
}

bool SimNodes::is_lost(std::size_t node, Stage stage, const NodeHistory& history) const {
  int crashes = 0;
  for (const auto& fault : words_->faults[node]) {
    if (fault.kind == Kind::silent) return true;
    if (fault.kind == Kind::dies && fault.first <= static_cast<double>(stage)) ++crashes;
    const auto reached = history.loaded_s + static_cast<double>(order_->plan.slice_s);
    if (fault.kind == Kind::crash && stage == Stage::soak && kHour * fault.first <= reached) {
      ++crashes;
    }
  }
  return crashes > history.losses;
}

void SimNodes::identify(std::size_t node, StepAnswer& answer) const {
  const auto* const wrong_serial = words_->fault(node, Kind::serial);
  for (int i = 0; i < words_->cluster.gpus; ++i) {
    const auto* const missing = words_->fault(node, Kind::missing_gpu);
    if (missing != nullptr && missing->first == i) continue;
    const bool copied = wrong_serial != nullptr && i == 0;
    const auto owner = copied ? static_cast<std::size_t>(wrong_serial->first) : node;
    answer.parts.push_back({.kind = "gpu",
                            .device = device_name(Devices::gpus, i),
                            .serial = serial_of(owner, i),
                            .model = words_->profile.gpu->present.model.value_or("GPU"),
                            .firmware = "96.00.BC.00.01"});
  }
  for (int i = 0; i < words_->cluster.hcas; ++i) {
    answer.parts.push_back({.kind = "hca",
                            .device = device_name(Devices::hcas, i),
                            .serial = hex(node, 200 + static_cast<unsigned>(i), 16),
                            .model = "MT4129",
                            .firmware = "28.43.2566"});
  }
  const bool older = words_->fault(node, Kind::driver) != nullptr;
  answer.stack = {{"driver", std::string(older ? kOlderDriver : kUsualDriver)},
                  {"kernel", "6.8.0-1030-azure"},
                  {"nccl", "2.28.3"},
                  {"os", "Ubuntu 24.04.3 LTS"}};
}

std::vector<int> SimNodes::xids_between(std::size_t node, double from_s, double to_s) const {
  std::vector<int> codes;
  for (const auto& fault : words_->faults[node]) {
    const auto at = kHour * fault.second;
    if (fault.kind == Kind::xid && at > from_s && at <= to_s) {
      codes.push_back(static_cast<int>(fault.first));
    }
    if (fault.kind != Kind::intermittent) continue;
    for_events(place(node, 2), kHour * fault.first, from_s, to_s,
               [&](std::uint64_t /*random*/) { codes.push_back(kXids[0].code); });
  }
  if (words_->failures > 0 && words_->is_good(node)) {
    for_events(place(node, 3), 1000 * kDay / words_->failures, from_s, to_s,
               [&](std::uint64_t random) {
                 codes.push_back(kRandomXids.at(random % kRandomXids.size()));
               });
  }
  return codes;
}

double SimNodes::factor_of(std::size_t node, std::string_view check, Stage stage,
                           int device) const {
  double factor = check == "bench.gemm" || check == kSoak.check ? words_->products : 1;
  const auto* const tired = words_->fault(node, Kind::tired);
  if (tired != nullptr && stage == Stage::after && check == "bench.gemm" &&
      device == std::lround(tired->first)) {
    factor *= tired->second;
  }
  for (const auto& fault : words_->cluster.faults) {
    const bool of_rail = check == "bench.hca_write" && fault.kind == BenchKind::slow_rail &&
                         std::cmp_equal(fault.first, device);
    if (of_rail) factor = std::min(factor, fault.factor);
    if (fault.first != node) continue;
    const bool same = std::cmp_equal(fault.second, device);
    const bool of_hca = check == "bench.hca_write" && (fault.kind == BenchKind::slow_node ||
                                                       (fault.kind == BenchKind::slow_hca && same));
    const bool of_links = check == "bench.node_all_reduce" &&
                          (fault.kind == BenchKind::slow_node || fault.kind == BenchKind::slow_gpu);
    const bool of_gpu = (check == "bench.gemm" || check == kSoak.check) &&
                        fault.kind == BenchKind::slow_gpu && same;
    if (of_hca || of_links || of_gpu) factor = std::min(factor, fault.factor);
  }
  return factor;
}

Report SimNodes::check_report(std::size_t node, Stage stage, const NodeHistory& history,
                              StepAnswer& answer) const {
  Report report{.node = answer.host, .context = stage == Stage::soak ? "periodic" : "boot"};
  report.physical_host = answer.physical_host;
  report.muster = answer.muster;
  std::vector<std::string> checks{
      "host.cpu", "host.memory",      "pci.devices",     "gpu.present",   "gpu.ecc_remapped_rows",
      "gpu.xid",  "gpu.nvlink_state", "gpu.temperature", "gpu.processes", "ib.present",
      "ib.state", "ib.rate"};
  for (const auto& check : checks) {
    report.findings.push_back(make_finding(check, "node", Outcome::pass, "as expected"));
  }
  const auto add = [&](Finding finding) { report.findings.push_back(std::move(finding)); };
  for (const auto& fault : words_->faults[node]) {
    const auto gpu = device_name(Devices::gpus, static_cast<int>(fault.first));
    if (fault.kind == Kind::missing_gpu) {
      const std::int64_t count = words_->cluster.gpus;
      add({.check = "gpu.present",
           .device = "node",
           .outcome = Outcome::fail,
           .message = fmt::format("NVML lists {} GPUs, expected {}", count - 1, count),
           .observed = count - 1,
           .limit = count,
           .remedy = Remedy::report_to_provider,
           .category = "Resource.Hpc.Unhealthy.HpcMissingGpu"});
    } else if (fault.kind == Kind::row_remap) {
      add(failed_remap(gpu));
    } else if (fault.kind == Kind::busy && stage != Stage::soak) {
      add(make_finding("gpu.processes", gpu, Outcome::fail,
                       "process 4242 (python, user 1000, 40.0 GiB on 1 GPU) left behind, belongs "
                       "to no job",
                       Remedy::restart_app));
    } else if (fault.kind == Kind::hot && stage == Stage::soak) {
      constexpr double kHot = 96;
      const auto limit = words_->profile.gpu->temperature.fail_above;
      add({.check = "gpu.temperature",
           .device = gpu,
           .outcome = Outcome::fail,
           .message = fmt::format("GPU at {} C, expected at most {} C", kHot,
                                  limit ? limit->value : kHot - 1),
           .observed = kHot,
           .limit = limit ? limit->value : kHot - 1,
           .unit = "C",
           .remedy = Remedy::report_to_provider});
    }
  }
  if (stage == Stage::soak) {
    const auto slice = static_cast<double>(order_->plan.slice_s);
    for (const int code : xids_between(node, history.loaded_s, history.loaded_s + slice)) {
      const auto gpus = static_cast<std::uint64_t>(words_->cluster.gpus);
      const auto gpu = static_cast<int>(place(node, 4) % gpus);
      add(xid_finding(code, gpu));
      answer.kernel_lines.push_back(
          fmt::format("NVRM: Xid (PCI:000{}:00:00): {}, pid='<unknown>'", gpu + 1, code));
    }
  }
  finish_report(report, words_->profile.name, answer.at, 1, checks);
  return report;
}

Report SimNodes::bench_report(std::size_t node, Stage stage, const NodeHistory& history,
                              const StepAnswer& answer) const {
  const bool full = stage == Stage::node && order_->plan.level == "full";
  Report report{.node = answer.host, .context = "manual", .benchmark = "node"};
  report.muster = answer.muster;
  std::vector<std::string> checks{"bench.in_use"};
  report.findings.push_back(
      make_finding("bench.in_use", "node", Outcome::pass, "no process uses any of the GPUs"));
  const auto number = static_cast<std::uint64_t>(stage) << 16U |
                      static_cast<std::uint64_t>(history.answered[static_cast<std::size_t>(stage)]);
  const auto noise = words_->cluster.noise.value / kPercent;
  const auto measure = [&](const NodeTest& test, std::uint64_t row) {
    const auto limits = test.limits(*words_->profile.bench);
    if (!limits.expected) return;
    checks.emplace_back(test.check);
    const double healthy = healthy_value(*words_, test, *limits.expected);
    const bool one = test.devices == Devices::node;
    const int count = one                             ? 1
                      : test.devices == Devices::hcas ? words_->cluster.hcas
                                                      : words_->cluster.gpus;
    for (int i = 0; i < count; ++i) {
      const auto seat = place(node, 1000 + 64 * row + static_cast<std::uint64_t>(i));
      const auto device = device_name(test.devices, one ? kNodeWide : i);
      const double value = healthy * factor_of(node, test.check, stage, i) *
                           (1 + noise * (normal_at(seat) + normal_at(seat ^ number)));
      report.findings.push_back(judged(test, device, value, test.judges ? limits : Limits{}));
      report.measurements.push_back(
          {.quantity = std::string(test.quantity),
           .value = value,
           .unit = std::string(test.unit),
           .conditions = {
               .ranks = 1, .nodes = 1, .test = std::string(test.name), .device = device}});
    }
  };
  if (stage == Stage::soak) {
    measure(kSoak, kTests.size());
  } else {
    for (std::size_t i = 0; i < kTests.size(); ++i) {
      if (full || kTests[i].quick) measure(kTests[i], i);
    }
  }
  finish_report(report, words_->profile.name, answer.at, answer.seconds, checks);
  return report;
}

StepAnswer SimNodes::answer(std::size_t node, Stage stage, const NodeHistory& history,
                            std::int64_t at) const {
  const auto& ordered = order_->nodes[node];
  const auto* const skew = words_->fault(node, Kind::skew);
  const bool moved = words_->fault(node, Kind::host) != nullptr;
  StepAnswer answer{.host = ordered.name,
                    .boot_id = hex(node, 10 + static_cast<unsigned>(history.losses), 16),
                    .muster = order_->muster,
                    .at = at + (skew == nullptr ? 0 : std::llround(skew->first)),
                    .seconds = static_cast<double>(seconds_of(node, stage)),
                    .physical_host = !moved && !ordered.host.empty()
                                         ? ordered.host
                                         : fmt::format("GGBB{}", hex(node, moved ? 6 : 5, 12)),
                    .profile = words_->profile.name};
  if (stage == Stage::inventory || stage == Stage::after) identify(node, answer);
  if (stage == Stage::inventory) return answer;
  const auto* const busy = words_->fault(node, Kind::busy);
  if (busy != nullptr && stage != Stage::check) {
    answer.refused = fmt::format("gpu{} is in use by python (process 4242)", busy->first);
    return answer;
  }
  if (stage != Stage::node) {
    answer.reports.push_back(check_report(node, stage, history, answer));
  }
  if (stage != Stage::check) {
    answer.reports.push_back(bench_report(node, stage, history, answer));
  }
  return answer;
}

}  // namespace muster::accept::sim
