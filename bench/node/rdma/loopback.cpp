// SPDX-License-Identifier: Apache-2.0
// ib.loopback: RDMA of each HCA to itself, from memory of the host and of its GPU, all HCAs at
// once, and to the other HCAs of the node.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <iterator>
#include <thread>

#include "bench/node/cpus.hpp"
#include "bench/node/rdma/memory.hpp"
#include "bench/node/rdma/near_gpus.hpp"
#include "bench/node/rdma/way.hpp"
#include "bench/node/tests.hpp"
#include "bench/results/statistics.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::node {
namespace {

constexpr int kLeast = 3;
constexpr int kMost = 100;
constexpr std::uint64_t kMessage = 8UL << 20U;

// One HCA with the memory that it and others move.
struct Lane {
  const Hca* hca = nullptr;
  std::unique_ptr<RdmaMemory> source, target;
  std::unique_ptr<Way> self;
  std::uint64_t seed = 0;
  bool spoilt = false;  // wrong data of it have been reported
  std::vector<double> write, read, latency, together, gpu;
};

struct Sizes {
  std::uint64_t message = 0;
  std::uint64_t count = 0;  // messages of one round

  [[nodiscard]] std::uint64_t bytes() const { return message * count; }
};

// Enough that the begin and the end of a round do not count, and no more than a sixteenth of the
// free memory for all.
Sizes sizes_for(const TestInput& input, std::size_t hcas) {
  constexpr std::uint64_t kQuick = 128UL << 20U;
  constexpr std::uint64_t kFull = 512UL << 20U;
  constexpr std::uint64_t kLeastMessages = 8;
  constexpr std::uint64_t kMostMessages = 4096;
  constexpr std::uint64_t kLeastBytes = 64UL << 10U;
  std::uint64_t bytes = input.bytes;
  if (bytes == 0) {
    bytes = input.level == Level::quick ? kQuick : kFull;
    const auto available = memory_available(Root());
    if (available != 0) bytes = std::min(bytes, available / (std::uint64_t{32} * hcas));
  }
  bytes = std::max(bytes, kLeastBytes);
  const auto wanted = static_cast<std::uint64_t>(input.limit.size.value_or(kMessage));
  Sizes sizes;
  sizes.message = std::clamp<std::uint64_t>(wanted, 64, bytes / kLeastMessages) / 64 * 64;
  sizes.count = std::min(bytes / sizes.message, kMostMessages);
  return sizes;
}

// Seconds. Some virtual machines' clocks have steps of milliseconds, whatever they say of
// themselves.
double clock_step() {
  constexpr int kTries = 5;
  auto step = Clock::duration::max();
  for (int i = 0; i < kTries; ++i) {
    const auto first = Clock::now();
    auto next = first;
    while (next == first) next = Clock::now();
    step = std::min(step, next - first);
  }
  return std::chrono::duration<double>(step).count();
}

class Loopback {
 public:
  Loopback(const TestInput& input, TestResult& result, std::size_t hcas)
      : input_(input),
        result_(result),
        sizes_(sizes_for(input, hcas)),
        patience_(std::clamp(std::chrono::duration_cast<std::chrono::nanoseconds>(2 * input.time),
                             std::chrono::nanoseconds(std::chrono::milliseconds(300)),
                             std::chrono::nanoseconds(std::chrono::seconds(5)))),
        gpus_(input) {}

  void add(const Hca& hca) {
    Lane lane{
        .hca = &hca, .source = {}, .target = {}, .self = {}, .seed = (lanes_.size() + 1) << 40U};
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
    std::erase_if(lanes_, [](const Lane& lane) { return !lane.self; });
    for (int i = 0; i < kLeast && lanes_.size() > 1; ++i) measure_together();
    measure_gpus(share);
    add_series();
    if (lanes_.size() > 1) measure_pairs();
  }

 private:
  [[nodiscard]] Result<void> prepare(Lane& lane) const {
    for (auto* memory : {&lane.source, &lane.target}) {
      auto made = put(*memory, RdmaMemory::reserve(*lane.hca, sizes_.bytes()));
      if (!made) return made;
    }
    if (auto filled = lane.source->fill(lane.seed); !filled) return filled;
    return put(lane.self, Way::join(*lane.hca, *lane.hca, patience_));
  }

  void give_up(Lane& lane, const Error& error) {
    lane.self.reset();
    result_.findings.push_back(unjudged(lane.hca->name(), error.message));
  }

  // Of memory that a transfer has just ended in: what is still on its way through the PCI bus comes
  // within a moment.
  [[nodiscard]] static Result<std::optional<Difference>> wrong_in(RdmaMemory& memory,
                                                                  std::uint64_t seed,
                                                                  std::uint64_t bytes) {
    auto wrong = memory.compare(seed, bytes);
    if (!wrong || !*wrong) return wrong;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return memory.compare(seed, bytes);
  }

  Result<void> check_data(Lane& lane, const std::string& device, RdmaMemory& memory,
                          std::uint64_t seed, std::uint64_t count) {
    TRY_ASSIGN(const auto compared, wrong_in(memory, seed, count * sizes_.message));
    const auto& wrong = compared;
    if (!wrong || std::exchange(lane.spoilt, true)) return {};
    result_.findings.push_back(
        broken(device, fmt::format("{} words of 8 bytes came over changed, the first at byte {}",
                                   wrong->words, wrong->first_byte)));
    return {};
  }

  // What is not much longer than a step of the clock is not known.
  [[nodiscard]] bool is_told(double seconds) const {
    constexpr double kFine = 1e-6;  // about what it takes to read the clock
    constexpr double kSteps = 10;
    return clock_step_ < kFine || seconds >= kSteps * clock_step_;
  }

  [[nodiscard]] Result<double> gbps(const Result<double>& seconds, std::uint64_t count) const {
    if (!seconds) return tl::unexpected(seconds.error());
    const auto bytes = count * sizes_.message;
    if (!is_told(*seconds)) {
      return make_error(
          fmt::format("this host's clock is too coarse for transfers of {} KiB", bytes >> 10U));
    }
    return 8 * static_cast<double>(bytes) / *seconds / 1e9;
  }

  // One round from the beginning of one memory to that of the other: Gb/s.
  [[nodiscard]] Result<double> move_once(Lane& lane, const Transfers& transfers, RdmaMemory& to) {
    if (auto cleared = to.clear(sizes_.bytes()); !cleared) return tl::unexpected(cleared.error());
    auto rate = gbps(lane.self->move(transfers), sizes_.count);
    if (!rate) return rate;
    TRY(check_data(lane, lane.hca->name(), to, lane.seed, sizes_.count));
    return rate;
  }

  // Of all that the lane's memories hold.
  [[nodiscard]] Transfers all_of(ibv_wr_opcode kind, const RdmaMemory& local,
                                 const RdmaMemory& remote) const {
    return {.kind = kind,
            .local = &local,
            .remote = &remote,
            .message = sizes_.message,
            .count = sizes_.count};
  }

  // From memory of the GPU next to it to memory of that GPU.
  Result<void> measure_gpu(Lane& lane, Gpu& gpu, std::chrono::duration<double> time) {
    TRY_ASSIGN(const auto source,
               RdmaMemory::reserve_on(*lane.hca, gpu, gpus_.cuda(), sizes_.bytes()));
    TRY_ASSIGN(const auto target,
               RdmaMemory::reserve_on(*lane.hca, gpu, gpus_.cuda(), sizes_.bytes()));
    if (auto filled = (source)->fill(lane.seed); !filled) return filled;
    const auto end = Clock::now() + time;
    for (int i = 0; i < kMost && (i < kLeast || Clock::now() < end); ++i) {
      TRY_ASSIGN(const auto rate,
                 move_once(lane, all_of(IBV_WR_RDMA_WRITE, *source, *target), *target));
      if (i > 0) lane.gpu.push_back(rate);
    }
    return {};
  }

  // Where HCAs and GPUs are not set up for each other that is said once, and nothing is wrong.
  void measure_gpus(std::chrono::duration<double> time) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      auto* const gpu = gpus_.near(lanes_[i].hca->name(), i);
      if (gpu == nullptr) {
        result_.lines.push_back(
            fmt::format("without memory of GPUs: {}", printable(gpus_.trouble().message)));
        return;
      }
      const auto done = measure_gpu(lanes_[i], *gpu, time / 2);
      if (done) continue;
      skip(fmt::format("memory of GPUs is left out: {}", printable(done.error().message)));
      return;
    }
  }

  // Of one small write after the other.
  Result<void> time_small(Lane& lane) {
    constexpr int kWrites = 1000;
    for (int i = 0; i < kWrites; ++i) {
      TRY_ASSIGN(const auto seconds, lane.self->move({.kind = IBV_WR_RDMA_WRITE,
                                                      .local = lane.source.get(),
                                                      .remote = lane.target.get(),
                                                      .message = sizeof(std::uint64_t),
                                                      .count = 1}));
      lane.latency.push_back(seconds * 1e9);
    }
    if (!is_told(median_of(lane.latency) / 1e9)) lane.latency.clear();
    return {};
  }

  Result<void> measure_alone(Lane& lane, std::chrono::duration<double> time) {
    const auto end = Clock::now() + time;
    const auto write = all_of(IBV_WR_RDMA_WRITE, *lane.source, *lane.target);
    const auto read = all_of(IBV_WR_RDMA_READ, *lane.target, *lane.source);
    for (int i = 0; i < kMost && (i < kLeast || Clock::now() < end); ++i) {
      for (const auto& [transfers, rates] :
           {std::pair(&write, &lane.write), std::pair(&read, &lane.read)}) {
        TRY_ASSIGN(const auto rate, move_once(lane, *transfers, *lane.target));
        rates->push_back(rate);
      }
    }
    // The first round finds nothing in its place.
    lane.write.erase(lane.write.begin());
    lane.read.erase(lane.read.begin());
    return time_small(lane);
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
        seconds[i] = lane.self->move(all_of(IBV_WR_RDMA_WRITE, *lane.source, *lane.target));
      });
    }
    for (auto& thread : threads) thread.join();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      auto& lane = lanes_[i];
      const auto rate = gbps(seconds[i], sizes_.count);
      const auto right =
          rate ? check_data(lane, lane.hca->name(), *lane.target, lane.seed, sizes_.count)
               : tl::unexpected(rate.error());
      if (!right) {
        give_up(lane, right.error());
        continue;
      }
      lane.together.push_back(*rate);
    }
    std::erase_if(lanes_, [](const Lane& lane) { return !lane.self; });
  }

  [[nodiscard]] Result<DeviceValue> write_to(Lane& from, Lane& to, const std::string& device) {
    const std::uint64_t count = std::max<std::uint64_t>(1, sizes_.count / 4);
    TRY_ASSIGN(auto way, Way::join(*from.hca, *to.hca, patience_));
    std::vector<double> rates;
    for (int i = 0; i < kLeast; ++i) {
      if (auto cleared = to.target->clear(count * sizes_.message); !cleared) {
        return tl::unexpected(cleared.error());
      }
      const auto seconds = (way)->move({.kind = IBV_WR_RDMA_WRITE,
                                        .local = from.source.get(),
                                        .remote = to.target.get(),
                                        .message = sizes_.message,
                                        .count = count});
      TRY_ASSIGN(const auto rate, gbps(seconds, count));
      if (auto right = check_data(from, device, *to.target, from.seed, count); !right) {
        return tl::unexpected(right.error());
      }
      if (i > 0) rates.push_back(rate);
    }
    return value_of(device, rates);
  }

  // Between HCAs the fabric carries it.
  void measure_pairs() {
    std::vector<std::string> names;
    for (const auto& lane : lanes_) names.push_back(lane.hca->name());
    auto matrix =
        empty_matrix("Gb/s that the HCA of the row writes to the HCA of the column", "Gb/s", names);
    auto series = empty_series("RDMA write between HCAs", "hca_write_between");
    series.tolerance = 0.1;
    series.iterations = kLeast - 1;
    std::vector<Finding> unreached;
    std::size_t left = 0;
    // Each that does not answer takes its time; a busy machine may take more for those that do.
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
        const auto device = fmt::format("{}-{}", lanes_[i].hca->name(), lanes_[j].hca->name());
        auto rate = write_to(lanes_[i], lanes_[j], device);
        if (rate) {
          matrix.cells[i][j] = rate->value;
          rate->noise = 0;  // of so few repeats it is not known
          series.values.push_back(*std::move(rate));
        } else {
          unreached.push_back(unjudged(device, rate.error().message));
          lost += Clock::now() - begin;
        }
      }
    }
    conclude_pairs(std::move(series), std::move(matrix), std::move(unreached), left);
  }

  // Where no HCA reaches any other, as in a fabric whose rails are apart, that is no fault.
  void conclude_pairs(Series series, Matrix matrix, std::vector<Finding> unreached,
                      std::size_t left) {
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
    result_.findings.push_back(
        {.device = "node", .outcome = Outcome::skip, .message = std::move(message)});
  }

  [[nodiscard]] Series empty_series(std::string_view what, std::string_view quantity) const {
    return {.what = std::string(what),
            .quantity = std::string(quantity),
            .unit = "Gb/s",
            .size_bytes = static_cast<std::int64_t>(sizes_.message),
            .values = {}};
  }

  void add_values(Series series, std::vector<double> Lane::*values) {
    for (const auto& lane : lanes_) {
      const auto& repeats = lane.*values;
      if (repeats.empty()) continue;
      series.add(lane.hca->name(), repeats).group = lane.hca->model();
    }
    result_.add(std::move(series));
  }

  void add_series() {
    const bool of_gpus = input_.limit.memory == BenchMemory::gpu;
    auto write = empty_series("RDMA write", "hca_write");
    write.limited = !of_gpus;
    add_values(std::move(write), &Lane::write);
    add_values(empty_series("RDMA read", "hca_read"), &Lane::read);
    auto gpu = empty_series("RDMA write, GPU memory", "hca_write_gpu");
    gpu.limited = of_gpus;
    add_values(std::move(gpu), &Lane::gpu);
    // HCAs of one NUMA node share its memory.
    auto together = empty_series("RDMA write, all HCAs", "hca_write_all");
    together.tolerance = 0.2;
    add_values(std::move(together), &Lane::together);
    auto latency = empty_series("RDMA write latency", "hca_write_latency");
    latency.unit = "ns";
    latency.less_is_better = true;
    latency.tolerance = 0.25;
    latency.size_bytes = sizeof(std::uint64_t);
    add_values(std::move(latency), &Lane::latency);
  }

  const TestInput& input_;
  TestResult& result_;
  Sizes sizes_;
  std::chrono::nanoseconds patience_;
  double clock_step_ = clock_step();
  NearGpus gpus_;
  std::vector<Lane> lanes_;
};

}  // namespace

Result<TestResult> run_ib_loopback(const TestInput& input) {
  TRY_ASSIGN(auto all, open_hcas(input));
  TestResult result{.findings = std::move(all.refused)};
  Loopback loopback(input, result, all.hcas.size());
  for (const auto& hca : all.hcas) loopback.add(*hca);
  loopback.measure();
  return result;
}

}  // namespace muster::bench::node
