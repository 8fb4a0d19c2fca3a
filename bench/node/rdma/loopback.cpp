// SPDX-License-Identifier: Apache-2.0
// ib.loopback: RDMA of each HCA to itself, from host memory and from its GPU's memory, of all HCAs
// at once, and to the other HCAs of the node.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <iterator>
#include <thread>
#include <utility>

#include "bench/node/host.hpp"
#include "bench/node/rdma/rdma.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/report/finding.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::node {
namespace {

// One HCA with its memory and its path to itself.
struct HcaLane {
  const Hca* hca = nullptr;
  std::unique_ptr<RdmaMemory> source, target;
  std::unique_ptr<RdmaPath> self;  // null after an error
  std::uint64_t seed = 0;
  bool spoilt = false;  // wrong data was reported
  std::vector<double> write, read, latency, together, gpu;
};

struct RoundSizes {
  std::uint64_t message = 0;
  std::uint64_t wanted = 0;  // the message that the limit is for
  std::uint64_t count = 0;   // messages of one round

  [[nodiscard]] std::uint64_t bytes() const { return message * count; }
};

// Large enough that the start and the end of a round do not matter, and at most a sixteenth of the
// free memory for all HCAs.
RoundSizes sizes_for(const TestInput& input, std::size_t hcas) {
  constexpr std::uint64_t kQuick = 128UL << 20U;
  constexpr std::uint64_t kFull = 512UL << 20U;
  constexpr double kMessage = 8UL << 20U;
  constexpr std::uint64_t kFewestMessages = 8;
  constexpr std::uint64_t kMaxMessages = 4096;
  constexpr std::uint64_t kMinBytes = 64UL << 10U;
  std::uint64_t bytes = input.bytes;
  if (bytes == 0) {
    bytes = input.level == Level::quick ? kQuick : kFull;
    const auto available = memory_available(Root());
    if (available != 0) bytes = std::min(bytes, available / (std::uint64_t{32} * hcas));
  }
  bytes = std::max(bytes, kMinBytes);
  const auto wanted = static_cast<std::uint64_t>(input.limit.size.value_or(kMessage));
  RoundSizes sizes{.wanted = wanted};
  sizes.message = std::clamp<std::uint64_t>(wanted, 64, bytes / kFewestMessages) / 64 * 64;
  sizes.count = std::min(bytes / sizes.message, kMaxMessages);
  return sizes;
}

constexpr std::chrono::microseconds kFineStep(1);  // about the time to read the clock

// Measures the clock's resolution in seconds: clock_getres() is wrong on virtual machines whose
// clock advances in milliseconds. Takes many tries, because a busy host interrupts some of them.
double clock_step() {
  constexpr int kTries = 50;
  auto step = Clock::duration::max();
  for (int i = 0; i < kTries && step >= kFineStep; ++i) {
    const auto first = Clock::now();
    auto next = first;
    while (next == first) next = Clock::now();
    step = std::min(step, next - first);
  }
  return std::chrono::duration<double>(step).count();
}

class LoopbackTest {
 public:
  LoopbackTest(const TestInput& input, TestResult& result, std::size_t hcas)
      : input_(input),
        result_(result),
        sizes_(sizes_for(input, hcas)),
        patience_(std::clamp(std::chrono::duration_cast<std::chrono::nanoseconds>(2 * input.time),
                             std::chrono::nanoseconds(std::chrono::milliseconds(300)),
                             std::chrono::nanoseconds(std::chrono::seconds(5)))),
        gpus_(input) {}

  void add(const Hca& hca) {
    HcaLane lane{.hca = &hca, .seed = (lanes_.size() + 1) << 40U};
    const auto prepared = prepare(lane);
    lanes_.push_back(std::move(lane));
    if (!prepared) give_up(lanes_.back(), prepared.error());
  }

  void measure() {
    const auto share = input_.time / (2.0 * static_cast<double>(lanes_.size() + 1));
    for (auto& lane : lanes_) {
      if (!lane.self) continue;
      if (auto done = measure_alone(lane, share); !done) give_up(lane, done.error());
    }
    drop_failed();
    for (int i = 0; i < kFewestRounds && lanes_.size() > 1; ++i) measure_together();
    measure_gpus(share / 2);
    add_series();
    if (lanes_.size() > 1) measure_pairs();
  }

 private:
  static constexpr int kFewestRounds = 3;
  static constexpr int kMaxRounds = 100;

  [[nodiscard]] Result<void> prepare(HcaLane& lane) const {
    TRY_ASSIGN(lane.source, RdmaMemory::reserve(*lane.hca, sizes_.bytes()));
    TRY_ASSIGN(lane.target, RdmaMemory::reserve(*lane.hca, sizes_.bytes()));
    TRY(lane.source->fill(lane.seed));
    TRY_ASSIGN(lane.self, RdmaPath::connect(*lane.hca, *lane.hca, patience_));
    return {};
  }

  void give_up(HcaLane& lane, const Error& error) {
    lane.self.reset();
    result_.findings.push_back(unjudged(lane.hca->name(), error.message));
  }

  void drop_failed() {
    std::erase_if(lanes_, [](const HcaLane& lane) { return !lane.self; });
  }

  // Compares twice, since data may still be on the PCI bus when a transfer completes.
  [[nodiscard]] static Result<std::optional<Difference>> difference_in(RdmaMemory& memory,
                                                                       std::uint64_t seed,
                                                                       std::uint64_t bytes) {
    auto difference = memory.compare(seed, bytes);
    if (!difference || !*difference) return difference;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return memory.compare(seed, bytes);
  }

  [[nodiscard]] Result<void> verify(HcaLane& lane, const std::string& device, RdmaMemory& memory,
                                    std::uint64_t bytes) {
    TRY_ASSIGN(const auto difference, difference_in(memory, lane.seed, bytes));
    if (!difference || std::exchange(lane.spoilt, true)) return {};
    result_.findings.push_back(
        broken(device, fmt::format("{} 8-byte words were corrupted, the first at byte {}",
                                   difference->words, difference->first_byte)));
    return {};
  }

  // Whether a time is much longer than a step of the clock.
  [[nodiscard]] bool is_measurable(double seconds) const {
    constexpr double kSteps = 10;
    const auto fine = std::chrono::duration<double>(kFineStep).count();
    return clock_step_ < fine || seconds >= kSteps * clock_step_;
  }

  [[nodiscard]] Result<double> gbps(double seconds, std::uint64_t count) const {
    const auto bytes = count * sizes_.message;
    if (!is_measurable(seconds)) {
      return make_error("this host's clock is too coarse for transfers of {} KiB", bytes >> 10U);
    }
    return 8 * static_cast<double>(bytes) / seconds / 1e9;
  }

  [[nodiscard]] Transfers round_of(ibv_wr_opcode kind, const RdmaMemory& local,
                                   const RdmaMemory& remote) const {
    return {.kind = kind,
            .local = &local,
            .remote = &remote,
            .message = sizes_.message,
            .count = sizes_.count};
  }

  // Runs and verifies one round over the path. Returns Gb/s. `device` is for findings.
  [[nodiscard]] Result<double> move_once(RdmaPath& path, HcaLane& lane, const std::string& device,
                                         const Transfers& transfers, RdmaMemory& to) {
    TRY(to.clear(transfers.count * sizes_.message));
    TRY_ASSIGN(const auto seconds, path.move(transfers));
    TRY_ASSIGN(const auto rate, gbps(seconds, transfers.count));
    TRY(verify(lane, device, to, transfers.count * sizes_.message));
    return rate;
  }

  [[nodiscard]] Result<double> move_to_itself(HcaLane& lane, const Transfers& transfers,
                                              RdmaMemory& to) {
    return move_once(*lane.self, lane, lane.hca->name(), transfers, to);
  }

  [[nodiscard]] Result<void> measure_alone(HcaLane& lane, std::chrono::duration<double> time) {
    const auto end = Clock::now() + time;
    const auto write = round_of(IBV_WR_RDMA_WRITE, *lane.source, *lane.target);
    const auto read = round_of(IBV_WR_RDMA_READ, *lane.target, *lane.source);
    for (int i = 0; i < kMaxRounds && (i < kFewestRounds || Clock::now() < end); ++i) {
      TRY_ASSIGN(const auto written, move_to_itself(lane, write, *lane.target));
      TRY_ASSIGN(const auto was_read, move_to_itself(lane, read, *lane.target));
      if (i == 0) continue;  // warms up
      lane.write.push_back(written);
      lane.read.push_back(was_read);
    }
    return measure_latency(lane);
  }

  // Times one small write after the other, and verifies the last.
  [[nodiscard]] Result<void> measure_latency(HcaLane& lane) {
    constexpr int kWrites = 1000;
    for (int i = 0; i < kWrites; ++i) {
      if (i + 1 == kWrites) TRY(lane.target->clear(sizeof(std::uint64_t)));
      TRY_ASSIGN(const auto seconds, lane.self->move({.kind = IBV_WR_RDMA_WRITE,
                                                      .local = lane.source.get(),
                                                      .remote = lane.target.get(),
                                                      .message = sizeof(std::uint64_t),
                                                      .count = 1}));
      lane.latency.push_back(seconds * 1e9);
    }
    if (!is_measurable(median_of(lane.latency) / 1e9)) lane.latency.clear();
    return verify(lane, lane.hca->name(), *lane.target, sizeof(std::uint64_t));
  }

  // Each HCA writes to itself, all at the same time.
  void measure_together() {
    for (auto& lane : lanes_) (void)lane.target->clear(sizes_.bytes());
    std::barrier gate(std::ssize(lanes_));
    std::vector<Result<double>> seconds(lanes_.size(), make_error(""));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      threads.emplace_back([&, i] {
        gate.arrive_and_wait();
        const auto& lane = lanes_[i];
        seconds[i] = lane.self->move(round_of(IBV_WR_RDMA_WRITE, *lane.source, *lane.target));
      });
    }
    for (auto& thread : threads) thread.join();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      auto added = add_together(lanes_[i], seconds[i]);
      if (!added) give_up(lanes_[i], added.error());
    }
    drop_failed();
  }

  [[nodiscard]] Result<void> add_together(HcaLane& lane, const Result<double>& seconds) {
    TRY(seconds);
    TRY_ASSIGN(const auto rate, gbps(*seconds, sizes_.count));
    TRY(verify(lane, lane.hca->name(), *lane.target, sizes_.bytes()));
    lane.together.push_back(rate);
    return {};
  }

  // From memory of the GPU near the HCA to memory of that GPU.
  [[nodiscard]] Result<void> measure_gpu(HcaLane& lane, Gpu& gpu,
                                         std::chrono::duration<double> time) {
    TRY_ASSIGN(const auto source,
               RdmaMemory::reserve_on(*lane.hca, gpu, gpus_.cuda(), sizes_.bytes()));
    TRY_ASSIGN(const auto target,
               RdmaMemory::reserve_on(*lane.hca, gpu, gpus_.cuda(), sizes_.bytes()));
    TRY(source->fill(lane.seed));
    const auto end = Clock::now() + time;
    for (int i = 0; i < kMaxRounds && (i < kFewestRounds || Clock::now() < end); ++i) {
      TRY_ASSIGN(const auto rate,
                 move_to_itself(lane, round_of(IBV_WR_RDMA_WRITE, *source, *target), *target));
      if (i > 0) lane.gpu.push_back(rate);
    }
    return {};
  }

  // HCAs and GPUs that are not set up for each other are not a fault.
  void measure_gpus(std::chrono::duration<double> time) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      auto* const gpu = gpus_.near(lanes_[i].hca->name(), i);
      if (gpu == nullptr) {
        result_.lines.push_back(
            fmt::format("without memory of GPUs: {}", printable(gpus_.trouble().message)));
        return;
      }
      if (const auto done = measure_gpu(lanes_[i], *gpu, time); !done) {
        return skip(fmt::format("without memory of GPUs: {}", printable(done.error().message)));
      }
    }
  }

  [[nodiscard]] Result<DeviceValue> write_to(HcaLane& from, HcaLane& to,
                                             const std::string& device) {
    TRY_ASSIGN(auto path, RdmaPath::connect(*from.hca, *to.hca, patience_));
    auto write = round_of(IBV_WR_RDMA_WRITE, *from.source, *to.target);
    write.count = std::max<std::uint64_t>(1, sizes_.count / 4);
    std::vector<double> rates;
    for (int i = 0; i < kFewestRounds; ++i) {
      TRY_ASSIGN(const auto rate, move_once(*path, from, device, write, *to.target));
      if (i > 0) rates.push_back(rate);
    }
    auto value = value_of(device, rates);
    value.noise = 0;  // unknown for so few repeats
    return value;
  }

  // Writes between HCAs, through the fabric.
  void measure_pairs() {
    std::vector<std::string> names;
    for (const auto& lane : lanes_) names.push_back(lane.hca->name());
    auto matrix =
        empty_matrix("Gb/s that the HCA of the row writes to the HCA of the column", "Gb/s", names);
    auto series = empty_series("RDMA write between HCAs", "hca_write_between");
    series.tolerance = 0.1;
    series.iterations = kFewestRounds - 1;
    std::vector<Finding> unreached;
    std::size_t left = 0;
    // Limits the time lost by pairs that do not answer; a busy machine may take longer for others.
    Clock::duration lost{};
    const auto end = Clock::now() + input_.time + std::chrono::seconds(20);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      for (std::size_t j = 0; j < lanes_.size(); ++j) {
        if (i == j) continue;
        const auto begin = Clock::now();
        if (begin > end || lost > input_.time + std::chrono::seconds(1)) {
          ++left;
          continue;
        }
        const auto device = fmt::format("{}-{}", names[i], names[j]);
        if (auto value = write_to(lanes_[i], lanes_[j], device)) {
          matrix.cells[i][j] = value->value;
          series.values.push_back(*std::move(value));
        } else {
          unreached.push_back(unjudged(device, value.error().message));
          lost += Clock::now() - begin;
        }
      }
    }
    // In a fabric of separate rails no HCA reaches another, which is not a fault.
    if (series.values.empty()) {
      return skip("no HCA of this node reaches another through the fabric");
    }
    std::ranges::move(unreached, std::back_inserter(result_.findings));
    if (left > 0) {
      result_.findings.push_back(
          unjudged("node", fmt::format("no time was left for {} pairs of HCAs", left)));
    }
    result_.series.push_back(std::move(series));
    result_.add(std::move(matrix));
  }

  void skip(std::string message) {
    result_.findings.push_back(make_finding("", "node", Outcome::skip, std::move(message)));
  }

  [[nodiscard]] Series empty_series(std::string_view what, std::string_view quantity) const {
    return {.what = std::string(what),
            .quantity = std::string(quantity),
            .unit = "Gb/s",
            .size_bytes = static_cast<std::int64_t>(sizes_.message)};
  }

  void add_series() {
    const bool of_gpus = input_.limit.memory == BenchMemory::gpu;
    auto together = empty_series("RDMA write, all HCAs", "hca_write_all");
    together.tolerance = 0.2;  // HCAs of one NUMA node share its memory
    auto latency = empty_series("RDMA write latency", "hca_write_latency");
    latency.unit = "ns";
    latency.less_is_better = true;
    latency.tolerance = 0.25;
    latency.size_bytes = sizeof(std::uint64_t);
    for (auto& [series, values] :
         {std::pair(empty_series("RDMA write", "hca_write"), &HcaLane::write),
          std::pair(empty_series("RDMA read", "hca_read"), &HcaLane::read),
          std::pair(empty_series("RDMA write, GPU memory", "hca_write_gpu"), &HcaLane::gpu),
          std::pair(together, &HcaLane::together), std::pair(latency, &HcaLane::latency)}) {
      auto measured = series;
      measured.limited = values == (of_gpus ? &HcaLane::gpu : &HcaLane::write);
      for (const auto& lane : lanes_) {
        const auto& repeats = lane.*values;
        if (!repeats.empty()) measured.add(lane.hca->name(), repeats).group = lane.hca->model();
      }
      result_.add(std::move(measured));
    }
    result_.require_size("messages", static_cast<double>(sizes_.message),
                         static_cast<double>(sizes_.wanted / 64 * 64));
  }

  const TestInput& input_;
  TestResult& result_;
  RoundSizes sizes_;
  std::chrono::nanoseconds patience_;
  double clock_step_ = clock_step();
  NearGpus gpus_;
  std::vector<HcaLane> lanes_;
};

}  // namespace

Result<TestResult> run_ib_loopback(const TestInput& input) {
  TRY_ASSIGN(auto all, open_hcas(input));
  TestResult result{.findings = std::move(all.refused)};
  LoopbackTest test(input, result, all.hcas.size());
  for (const auto& hca : all.hcas) test.add(*hca);
  test.measure();
  return result;
}

}  // namespace muster::bench::node
