// SPDX-License-Identifier: Apache-2.0
#include "tests/fleet/year.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/mixing.hpp"

namespace muster::fleet {
namespace {

constexpr int kGpus = 8;
constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kFirst = 1'767'225'600;  // 2026-01-01

// Numbers drawn for a node and a day; each of several GPUs adds its index.
enum Draw {
  fails = 1,
  fault_device = 2,
  lemon = 3,
  slot = 4,
  firmware = 5,
  of_node = 100,
  of_day = 1000
};

struct Quantity {
  std::string_view check, unit, device;
  double usual;
  double spread;  // between nodes and devices, as a share
  double daily;   // between days, as a share
};

constexpr std::array kQuantities{
    Quantity{"gpu.products", "TFLOPS", "gpu", 712, 0.008, 0.004},
    Quantity{"gpu.memory_bandwidth", "GB/s", "gpu", 3050, 0.004, 0.002},
    Quantity{"gpu.temperature", "C", "gpu", 44, 0.06, 0.03},
    Quantity{"gpu.memory_temperature", "C", "gpu", 51, 0.06, 0.03},
    Quantity{"gpu.power", "W", "gpu", 118, 0.03, 0.02},
    Quantity{"gpu.clock", "MHz", "gpu", 1980, 0, 0},
    Quantity{"gpu.corrected_errors", "", "gpu", 2, 0.5, 0.3},
    Quantity{"gpu.remapped_rows", "", "gpu", 0, 0, 0},
    Quantity{"gpu.nvlink_errors", "", "gpu", 0, 0, 0},
    Quantity{"gpu.pcie_rate", "GT/s", "gpu", 32, 0, 0},
    Quantity{"gpu.pcie_replays", "", "gpu", 1, 0.5, 0.5},
    Quantity{"ib.rate", "Gb/s", "mlx5_ib", 400, 0, 0},
    Quantity{"ib.symbol_errors", "", "mlx5_ib", 3, 0.5, 0.5},
    Quantity{"ib.bit_error_ratio", "", "mlx5_ib", 2e-9, 0.3, 0.2},
    Quantity{"ib.flaps", "", "mlx5_ib", 0, 0, 0},
};

}  // namespace

std::string Year::name(int node) { return fmt::format("gpu-{:05}", node); }

std::int64_t Year::time(int node, int day) { return kFirst + day * kDay_s + node % 3600; }

std::uint64_t Year::random(int node, int day, int what) const {
  auto state = mixed(options_.seed + 0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(what));
  state = mixed(state ^ static_cast<std::uint64_t>(node));
  return mixed(state ^ (static_cast<std::uint64_t>(day) << 32U));
}

double Year::uniform(int node, int day, int what) const {
  constexpr unsigned kUnused = 11;  // bits of a double's mantissa
  return static_cast<double>(random(node, day, what) >> kUnused) * 0x1p-53;
}

// The sum of uniform numbers is close enough to normal.
double Year::noise(int node, int day, int what) const {
  const auto bits = random(node, day, what);
  double sum = 0;
  for (unsigned i = 0; i < 4; ++i)
    sum += static_cast<double>((bits >> (16 * i)) & 0xffffU) / 65'536;
  return (sum - 2) * std::sqrt(3.0);
}

std::string Year::serial(int node, int gpu, int day) const {
  using P = PlantedFaults;
  const auto usual = [](int of_node, int of_gpu) {
    return fmt::format("{}", 1'650'000'000 + of_node * kGpus + of_gpu);
  };
  if (!options_.planted) return usual(node, gpu);
  const bool moved = day >= P::kLemonMoved;
  if (moved && node == P::kLemonNode && gpu == P::kLemonGpu) {
    return usual(P::kLemonNodeLater, P::kLemonGpuLater);
  }
  if (moved && node == P::kLemonNodeLater && gpu == P::kLemonGpuLater) {
    return usual(P::kLemonNode, P::kLemonGpu);
  }
  constexpr int kReplaced_days = 60;
  if (node == P::kSlotNode && gpu == P::kSlotGpu && day >= kReplaced_days) {
    return fmt::format("{}", 1'700'000'000 + day / kReplaced_days);
  }
  return usual(node, gpu);
}

std::vector<Year::Fault> Year::faults(int node, int day) const {
  using P = PlantedFaults;
  std::vector<Fault> faults;
  const auto xid = [](int gpu) {
    return Fault{"gpu.xid", fmt::format("gpu{}", gpu), "Xid 79: the GPU has fallen off the bus"};
  };
  constexpr double kEveryThreeWeeks = 1.0 / 21;
  if (options_.planted) {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      const bool is_lemon = serial(node, gpu, day) == P::kLemon;
      const bool is_slot = node == P::kSlotNode && gpu == P::kSlotGpu;
      if (is_lemon && uniform(0, day, lemon) < kEveryThreeWeeks) faults.push_back(xid(gpu));
      if (is_slot && uniform(node, day, slot) < kEveryThreeWeeks) faults.push_back(xid(gpu));
    }
    constexpr double kOften = 0.02;
    if (day >= P::kFirmwareFrom && node < options_.nodes / 10 &&
        uniform(node, day, firmware) < kOften) {
      faults.push_back({"ib.rate", fmt::format("mlx5_ib{}", random(node, day, firmware) % kGpus),
                        "200 Gb/s, expected 400 Gb/s"});
    }
  }
  if (uniform(node, day, fails) < options_.failures / 1000) {
    const auto drawn = random(node, day, fault_device);
    const int device = static_cast<int>(drawn % kGpus);
    if (drawn / kGpus % 2 == 0) {
      faults.push_back(xid(device));
    } else {
      faults.push_back(
          {"ib.rate", fmt::format("mlx5_ib{}", device), "200 Gb/s, expected 400 Gb/s"});
    }
  }
  return faults;
}

std::string Year::values(int node, int day) const {
  using P = PlantedFaults;
  std::string text;
  const auto out = std::back_inserter(text);
  int what = 0;
  for (const auto& each : kQuantities) {
    fmt::format_to(out, R"({}"{}":{{"unit":"{}","by_device":{{)", text.empty() ? "" : ",",
                   each.check, each.unit);
    for (int i = 0; i < kGpus; ++i, ++what) {
      double value = each.usual * (1 + each.spread * noise(node, -1, of_node + what) +
                                   each.daily * noise(node, day, of_day + what));
      const bool is_products = &each == &kQuantities.front();
      if (options_.planted && is_products && day >= P::kDriverFrom) value *= 0.985;
      if (options_.planted && is_products && node == P::kRampNode && i == P::kRampGpu &&
          day > P::kRampFrom) {
        value *= 1 - 0.0005 * (day - P::kRampFrom);
      }
      fmt::format_to(out, R"({}"{}{}":{:.6g})", i == 0 ? "" : ",", each.device, i,
                     std::max(value, 0.0));
    }
    text += "}}";
  }
  return text;
}

std::string Year::parts(int node, int day) const {
  using P = PlantedFaults;
  std::string text;
  const auto out = std::back_inserter(text);
  const bool is_new = options_.planted && day >= P::kFirmwareFrom && node < options_.nodes / 10;
  for (int i = 0; i < kGpus; ++i) {
    fmt::format_to(out,
                   R"({}{{"kind":"gpu","device":"gpu{}","serial":"{}","model":)"
                   R"("NVIDIA H100 80GB HBM3","firmware":"96.00.89.00.01",)"
                   R"("address":"0000:{:02x}:00.0"}})",
                   i == 0 ? "" : ",", i, serial(node, i, day), 0x18 + 0x10 * i);
  }
  for (int i = 0; i < kGpus; ++i) {
    fmt::format_to(out,
                   R"(,{{"kind":"hca","device":"mlx5_ib{}","serial":"0x{:016x}","model":"MT4129",)"
                   R"("firmware":"{}","address":"0000:{:02x}:00.0"}})",
                   i, 0x946dae0300000000U + static_cast<unsigned>(node * kGpus + i),
                   is_new ? "28.44.1036" : "28.39.1002", 0x19 + 0x10 * i);
  }
  return text;
}

std::string Year::report(int node, int day) const {
  const auto found = faults(node, day);
  const bool new_driver = options_.planted && day >= PlantedFaults::kDriverFrom;
  constexpr int kDaysOfBoot = 30;
  const int boot = (day + node % kDaysOfBoot) / kDaysOfBoot + (new_driver ? 1000 : 0);
  std::string findings, checks;
  for (const auto& fault : found) {
    findings += fmt::format(R"({}{{"check":"{}","device":"{}","outcome":"fail","message":"{}",)"
                            R"("observed":null,"limit":null,"unit":"","remedy":"{}","code":"{}",)"
                            R"("category":""}})",
                            findings.empty() ? "" : ",", fault.check, fault.device, fault.message,
                            fault.check == "ib.rate" ? "reseat_or_replace" : "reboot",
                            fault.check == "ib.rate" ? "NHC2003" : "NHC2013");
  }
  const auto outcome = [&](std::string_view check) {
    for (const auto& fault : found) {
      if (fault.check == check) return "fail";
    }
    return "pass";
  };
  checks = fmt::format(R"({{"id":"gpu.xid","outcome":"{}"}})", outcome("gpu.xid"));
  for (const auto& each : kQuantities) {
    checks += fmt::format(R"(,{{"id":"{}","outcome":"{}"}})", each.check, outcome(each.check));
  }
  return fmt::format(
      R"({{"schema":"muster.report/1","node":"{}","profile":"nd96isr_h100_v5",)"
      R"("profile_evidence":["chassis asset tag says Azure"],"context":"periodic","started":"{}",)"
      R"("duration_ms":11.2,"verdict":"{}","coverage":{{"judged":16,"selected":16,)"
      R"("not_observed":[]}},"physical_host":"GGBB{:08}","boot_id":"{:08x}-{:04x}",)"
      R"("parts":[{}],"stack":{{"driver":"{}","kernel":"6.8.0-1021-azure"}},"muster":"0.1.0",)"
      R"("snapshot":"","checks":[{}],"findings":[{}],"probes":[{{"name":"nvml","status":"ok",)"
      R"("duration_ms":8.1}}],"values":{{{}}}}})",
      name(node), utc(time(node, day)), found.empty() ? "healthy" : "unhealthy", node, node, boot,
      parts(node, day), new_driver ? "580.105.08" : "570.172.08", checks, findings,
      values(node, day));
}

std::vector<std::string> Year::reports() const {
  std::vector<std::string> all;
  for (int day = 0; day < options_.days; ++day) {
    for (int node = 0; node < options_.nodes; ++node) all.push_back(report(node, day));
  }
  return all;
}

}  // namespace muster::fleet
