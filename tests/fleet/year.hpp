// SPDX-License-Identifier: Apache-2.0
// A simulated year of reports of a fleet, with planted faults. Each report is a function of the
// seed, the node and the day, so that reports can be made in any order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::fleet {

struct YearOptions {
  int nodes = 1000;
  int days = 365;
  std::uint64_t seed = 1;
  double failures = 6.5;  // per 1000 node-days
  bool planted = true;    // the faults below; needs 100 nodes
};

// The planted faults.
struct PlantedFaults {
  // A GPU that fails about every three weeks; it moves from the first slot to the second.
  static constexpr const char* kLemon = "1650000066";
  static constexpr int kLemonNode = 8, kLemonGpu = 2;
  static constexpr int kLemonNodeLater = 43, kLemonGpuLater = 5, kLemonMoved = 150;
  // A slot in which each GPU fails, and is replaced every 60 days.
  static constexpr int kSlotNode = 61, kSlotGpu = 4;
  // A GPU whose products become 0.05% slower every day.
  static constexpr int kRampNode = 77, kRampGpu = 1, kRampFrom = 150;
  // A driver that makes the products of the whole fleet 1.5% slower.
  static constexpr int kDriverFrom = 200;
  // HCA firmware that makes links fail, on the first tenth of the nodes.
  static constexpr int kFirmwareFrom = 250;
};

class Year {
 public:
  explicit Year(const YearOptions& options) : options_(options) {}

  // "gpu-00008".
  [[nodiscard]] static std::string name(int node);
  // The serial number of a GPU.
  [[nodiscard]] std::string serial(int node, int gpu, int day) const;
  // A muster.report/1 on one line.
  [[nodiscard]] std::string report(int node, int day) const;
  // All reports, by day.
  [[nodiscard]] std::vector<std::string> reports() const;

  // When the node is checked on the day, as Unix time.
  [[nodiscard]] static std::int64_t time(int node, int day);

 private:
  struct Fault {
    std::string check, device, message;
  };

  [[nodiscard]] std::uint64_t random(int node, int day, int what) const;
  [[nodiscard]] double uniform(int node, int day, int what) const;  // 0 to 1
  [[nodiscard]] double noise(int node, int day, int what) const;    // deviation 1
  [[nodiscard]] std::vector<Fault> faults(int node, int day) const;
  [[nodiscard]] std::string values(int node, int day) const;
  [[nodiscard]] std::string parts(int node, int day) const;

  YearOptions options_;
};

}  // namespace muster::fleet
