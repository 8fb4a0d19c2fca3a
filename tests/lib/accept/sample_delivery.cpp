// SPDX-License-Identifier: Apache-2.0
#include "tests/lib/accept/sample_delivery.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "lib/base/mixing.hpp"
#include "lib/report/summary.hpp"

namespace muster::accept {
namespace {

constexpr std::int64_t kBegin = 1'795'075'200;  // 2026-11-19T08:00:00Z
constexpr std::size_t kPeriod = 64;             // of faults
constexpr std::size_t kSlowGpu = 11, kXids = 32, kBusy = 39, kSilent = 56, kWarm = 6, kOnce = 49,
                      kOldDriver = 19;

double noise(std::uint64_t place) {
  return static_cast<double>(mixed(place) % 1000) / 1000 +
         static_cast<double>(mixed(place + 7) % 1000) / 1000 - 1;
}

struct SampleTest {
  std::string_view check, test, quantity, unit;
  double usual;
  std::optional<double> limit;
  double spread = 0.006;
  std::string_view device = "gpu";
  int devices = 8;
};

const std::array kSampleTests{
    SampleTest{"bench.gemm", "gpu.gemm", "gemm_bf16", "TFLOPS", 712, 640, 0.008},
    SampleTest{"bench.gpu_memory", "gpu.memory", "gpu_triad", "GB/s", 2980, 2700},
    SampleTest{"bench.host_copy", "gpu.copy", "host_to_device", "GB/s", 55.1, 50},
    SampleTest{"bench.hca_write", "ib.loopback", "hca_write", "Gb/s", 392, 380, 0.003, "mlx5_ib"},
    SampleTest{"bench.node_all_reduce", "nccl.intra", "busbw", "GB/s", 481, 450, 0.004, "node", 1},
    SampleTest{"bench.latency", "host.latency", "memory_latency", "ns", 118, {}, 0.03, "numa", 2},
    SampleTest{"bench.stream", "host.stream", "stream_triad", "GB/s", 388, 330, 0.01, "node", 1}};

class SampleNode {
 public:
  SampleNode(std::size_t index, const std::string& name) : index_(index), name_(name) {}

  [[nodiscard]] bool is(std::size_t kind) const { return index_ % kPeriod == kind; }

  [[nodiscard]] StepAnswer answer(Stage stage, std::int64_t number, std::int64_t at) const {
    StepAnswer answer{
        .host = name_,
        .boot_id = fmt::format("5f0c{:04x}-61b2-4e7e-9d3a-{:012x}", index_, mixed(index_) >> 16U),
        .muster = "0.1.0",
        .at = at + (is(kWarm) ? 9 : 0),
        .seconds = stage == Stage::soak ? 1800.0 : 60.0,
        .physical_host = fmt::format("GGBB90{:06}", mixed(index_ + 3) % 1'000'000),
        .profile = "nd96isr_h100_v5"};
    if (stage == Stage::inventory) identify(answer);
    if (is(kBusy) && stage == Stage::node) {
      answer.refused = "gpu2 is in use by python (process 4242)";
    }
    if (stage == Stage::inventory || !answer.refused.empty()) return answer;
    Report report{.node = name_, .profile = answer.profile, .context = "boot"};
    report.findings = {
        {.check = "gpu.present", .device = "node", .outcome = Outcome::pass, .message = "8 GPUs"}};
    if (is(kOldDriver)) {
      report.coverage.not_observed.push_back({"kernel log", "/dev/kmsg: Permission denied", false});
    }
    if (stage == Stage::soak && is(kXids) && number % 17 == 0) add_xid(answer, report);
    if (stage == Stage::check && is(kOnce) && number == 1) {
      report.findings.push_back({.check = "ib.rate",
                                 .device = "mlx5_ib5",
                                 .outcome = Outcome::fail,
                                 .message = "200 Gb/s (2X NDR), expected 400 Gb/s",
                                 .observed = 200.0,
                                 .limit = 400.0,
                                 .unit = "Gb/s",
                                 .remedy = Remedy::reseat_or_replace});
    }
    if (stage == Stage::node || stage == Stage::after) add_tests(report, number);
    conclude(report, {"gpu.present"});
    answer.reports.push_back(std::move(report));
    return answer;
  }

 private:
  void identify(StepAnswer& answer) const {
    answer.stack = {{"driver", is(kOldDriver) ? "570.172.08" : "580.105.08"},
                    {"kernel", "6.8.0-1030-azure"},
                    {"nccl", "2.28.3"},
                    {"os", "Ubuntu 24.04.3 LTS"}};
    answer.parts.push_back({"board", "board", fmt::format("MT2437X{:05}", index_), "DGX H100", ""});
    for (std::uint64_t i = 0; i < 8; ++i) {
      answer.parts.push_back({"gpu", fmt::format("gpu{}", i),
                              fmt::format("1650{:09}", mixed(100 * index_ + i) % 1'000'000'000),
                              "NVIDIA H100 80GB HBM3", "96.00.BC.00.01"});
      answer.parts.push_back({"hca", fmt::format("mlx5_ib{}", i),
                              fmt::format("{:016x}", mixed(300 * index_ + i)), "MT4129",
                              "28.43.2566"});
    }
  }

  static void add_xid(StepAnswer& answer, Report& report) {
    report.findings.push_back({.check = "gpu.xid",
                               .device = "gpu6",
                               .outcome = Outcome::fail,
                               .message = "XID 48, double-bit memory error",
                               .remedy = Remedy::report_to_provider,
                               .category = "Resource.Hpc.Unhealthy.XID48DoubleBitECC"});
    answer.kernel_lines = {
        "NVRM: Xid (PCI:0007:00:00): 48, pid=4242, name=python3, DBE at partition 3, subpartition "
        "1"};
  }

  void add_tests(Report& report, std::int64_t number) const {
    std::uint64_t row = 0;
    for (const auto& test : kSampleTests) {
      ++row;
      std::optional<double> worst;
      for (int i = 0; i < test.devices; ++i) {
        const auto seat = 1000 * index_ + 20 * row + static_cast<std::uint64_t>(i);
        double value = test.usual *
                       (1 + test.spread * (noise(seat) +
                                           0.3 * noise(seat + static_cast<std::uint64_t>(number))));
        if (is(kSlowGpu) && test.check == "bench.gemm" && i == 3) value *= 0.84;
        if (is(kWarm) && test.check == "bench.host_copy") value *= 0.955;
        value = std::round(100 * value) / 100;
        const auto device =
            test.devices == 1 ? std::string(test.device) : fmt::format("{}{}", test.device, i);
        report.measurements.push_back(
            {.quantity = std::string(test.quantity),
             .value = value,
             .unit = std::string(test.unit),
             .conditions = {
                 .ranks = 1, .nodes = 1, .test = std::string(test.test), .device = device}});
        worst = worst ? std::min(*worst, value) : value;
        if (test.limit && value < *test.limit) {
          report.findings.push_back(
              {.check = std::string(test.check),
               .device = device,
               .outcome = Outcome::fail,
               .message =
                   fmt::format("products in bf16 {} {}; fails below {} (profile nd96isr_h100_v5)",
                               value, test.unit, *test.limit),
               .observed = value,
               .limit = *test.limit,
               .unit = std::string(test.unit),
               .remedy = Remedy::report_to_provider,
               .category = "Resource.Hpc.Unhealthy.HpcGenericFailure"});
        } else if (is(kWarm) && test.check == "bench.host_copy" && i == 0) {
          report.findings.push_back(
              {.check = std::string(test.check),
               .device = device,
               .outcome = Outcome::warn,
               .message = fmt::format("host to device {} GB/s; warns below 53", value),
               .observed = value,
               .limit = 53.0,
               .unit = "GB/s",
               .remedy = Remedy::watch});
        }
      }
      if (test.limit && *worst >= *test.limit) {
        report.findings.push_back({.check = std::string(test.check),
                                   .device = "node",
                                   .outcome = Outcome::pass,
                                   .message = "passes",
                                   .observed = *worst,
                                   .limit = *test.limit,
                                   .unit = std::string(test.unit)});
      }
    }
  }

  std::size_t index_;
  const std::string& name_;
};

StepAnswer group_answer(const std::vector<std::string>& names, Stage stage, std::int64_t number) {
  StepAnswer answer{
      .host = names.front(), .muster = "0.1.0", .seconds = 120, .profile = "nd96isr_h100_v5"};
  Report report{.context = "manual"};
  report.nodes = names;
  if (stage == Stage::fabric) {
    report.findings = {{.check = "bench.locate",
                        .device = "job",
                        .outcome = Outcome::pass,
                        .message = "no node is slow"}};
    Matrix matrix{.title = "Bus bandwidth of each pair of nodes that was measured",
                  .unit = "GB/s",
                  .names = names,
                  .usual = 334};
    if (names.size() <= kMaxDrawnNames)
      matrix.cells.assign(names.size(), std::vector<std::optional<double>>(names.size()));
    for (std::size_t i = 0; names.size() <= kMaxDrawnNames && i < names.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if ((i + j) % 7 != 3) continue;
        const double share = i == 25 && j == 13 ? 0.61 : i == 44 ? 0.93 : 1;
        matrix.cells[i][j] = matrix.cells[j][i] =
            std::round(334 * share * (1 + 0.004 * noise(i * 977 + j)));
      }
    }
    report.matrices.push_back(std::move(matrix));
  } else {
    const double value = number == 4 ? 333.5 : 371 + 4 * noise(static_cast<std::uint64_t>(number));
    report.findings = {{.check = "bench.job_all_reduce",
                        .device = "job",
                        .outcome = Outcome::pass,
                        .message = "all_reduce",
                        .observed = value,
                        .limit = 330.0,
                        .unit = "GB/s"}};
    report.measurements = {{.quantity = "busbw",
                            .value = value,
                            .unit = "GB/s",
                            .conditions = {.collective = "all_reduce"}}};
  }
  conclude(report, {report.findings.front().check});
  answer.reports.push_back(std::move(report));
  return answer;
}

}  // namespace

SampleDelivery::SampleDelivery(std::size_t nodes)
    : order{.id = "0193f2c4-7d1e-7b52-9c1b-2f6d8a4e9b10",
            .muster = "0.1.0",
            .created = kBegin,
            .plan = *shipped_plan("standard")} {
  order.plan.slice_s = 1800;
  order.plan.round_s = 4 * 3600;
  for (std::size_t i = 0; i < nodes; ++i) {
    order.nodes.push_back({.name = fmt::format("gpu-{:03}", i + 1),
                           .group = nodes > 32 ? fmt::format("leaf{}", i / 32) : ""});
  }
}

Delivery SampleDelivery::make(std::int64_t until) {
  order.plan.soak_s = 3600 * hours;
  facts.resize(order.nodes.size());
  const std::vector<bool> reachable(order.nodes.size(), true);
  std::int64_t now = kBegin;
  for (;;) {
    actions = next(order, results, reachable, now);
    if (now >= until || (actions.nodes.empty() && actions.groups.empty() && !actions.wake)) break;
    if (actions.nodes.empty() && actions.groups.empty()) {
      now = *actions.wake;
      continue;
    }
    const auto started = now;
    bool soaks = false;
    for (const auto& start : actions.nodes) soaks = soaks || start.stage == Stage::soak;
    now += soaks ? 1800 : 180;
    for (const auto& start : actions.nodes) {
      const auto& ordered = order.nodes[start.node];
      Attempt attempt{.node = ordered.name,
                      .stage = start.stage,
                      .number = start.number,
                      .started = started,
                      .ended = now};
      const SampleNode node(start.node, ordered.name);
      if (node.is(kSilent)) {
        attempt.end = AttemptEnd::lost;
        attempt.why = "ssh: connect to host 10.4.0.57 port 22: No route to host";
      } else {
        auto answer = node.answer(start.stage, start.number, now);
        edit(answer);
        judge_attempt(attempt, answer, ordered);
        learn(facts[start.node], attempt, answer);
      }
      results.attempts.push_back(std::move(attempt));
    }
    for (const auto& start : actions.groups) {
      GroupAttempt attempt{
          .stage = start.stage, .number = start.number, .started = started, .ended = now};
      for (const auto node : start.nodes) attempt.nodes.push_back(order.nodes[node].name);
      auto answer = group_answer(attempt.nodes, start.stage, start.number);
      edit(answer);
      judge_attempt(attempt, answer, attempt.nodes);
      learn(group, attempt, answer);
      results.groups.push_back(std::move(attempt));
    }
  }
  return make_delivery(order, results, actions, facts, group, {.who = "kim", .now = now});
}

const Delivery& delivery_of_64() {
  static const auto delivery = SampleDelivery(64).make();
  return delivery;
}

}  // namespace muster::accept
