// SPDX-License-Identifier: Apache-2.0
// gpu.p2p: copies between every ordered pair of GPUs, one way and both at once.
#include <fmt/format.h>

#include <algorithm>

#include "bench/backends/nccl/errors.hpp"
#include "bench/node/gpus.hpp"
#include "bench/node/tests.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

constexpr int kRepeats = 5;
constexpr std::string_view kThroughHost = "through the host";
constexpr std::uint64_t kPeriod = 1021;  // prime: no row of memory is as long

struct End {
  NodeGpu* gpu = nullptr;
  cuda::Pointer from = 0, to = 0;  // what others read; where it reads to
  std::vector<std::uint64_t> data;
};

// `reader` reads what `other` holds, on its own stream.
Result<void> read(const End& reader, const End& other, std::uint64_t bytes) {
  auto& gpu = reader.gpu->gpu();
  if (auto used = gpu.use(); !used) return used;
  MUSTER_CUDA_TRY(reader.gpu->library(), copy_peer, reader.to, gpu.context(), other.from,
                  other.gpu->gpu().context(), bytes, gpu.stream());
  return {};
}

// What joins two GPUs, as far as the driver ranks it; pairs of the same are compared.
std::string group_of(const NodeGpu& reader, const NodeGpu& other) {
  constexpr int kPerformanceRank = 1;
  const auto& library = reader.library();
  int direct = 0;
  int rank = 0;
  if (library.can_access.call == nullptr ||
      library.can_access.call(&direct, reader.device(), other.device()) != cuda::kSuccess ||
      direct == 0) {
    return std::string(kThroughHost);
  }
  if (library.peer_attribute.call == nullptr ||
      library.peer_attribute.call(&rank, kPerformanceRank, reader.device(), other.device()) !=
          cuda::kSuccess) {
    return "direct";
  }
  return fmt::format("direct, rank {}", rank);
}

// Where two GPUs can reach each other, the driver is told that they may.
Result<void> open_way(const NodeGpu& reader, const NodeGpu& other) {
  constexpr int kAlready = 704;
  const auto& library = reader.library();
  if (library.enable_peer.call == nullptr || group_of(reader, other) == kThroughHost) {
    return {};
  }
  if (auto used = reader.gpu().use(); !used) return used;
  const int code = library.enable_peer.call(other.gpu().context(), 0);
  if (code == cuda::kSuccess || code == kAlready) return {};
  return tl::unexpected(trouble(library, library.enable_peer.name, code));
}

Result<End> prepare(NodeGpu& gpu, std::uint64_t bytes, std::uint64_t seed) {
  End end{.gpu = &gpu};
  for (std::uint64_t i = 0; i < kPeriod; ++i) {
    end.data.push_back((seed * kPeriod + i + 1) * 0x9e3779b97f4a7c15U);
  }
  auto done = gpu.allocate({&end.from, &end.to}, bytes);
  if (done) done = gpu.gpu().fill(end.from, bytes / 8, 8, {.bits = end.data, .shift = 0});
  if (done) done = gpu.wait();
  if (!done) return tl::unexpected(done.error());
  return end;
}

// How many words are not what `other` holds.
Result<std::uint64_t> wrong_words(const End& reader, const End& other, std::uint64_t bytes) {
  const Segment segment{
      .first = 0, .count = bytes / 8, .shift = 0, .low = other.data, .high = other.data};
  Wrong wrong;
  auto done = reader.gpu->gpu().use();
  if (done) {
    done =
        reader.gpu->gpu().verify(reader.to, 8, segment, wrong, []() -> Result<void> { return {}; });
  }
  if (!done) return tl::unexpected(done.error());
  return wrong.elements;
}

// Whether GPUs are joined in groups, as pairs by a bridge: each reaches as many others directly,
// and not all. Where one lost its way to another, or all did, that is no design.
bool in_groups(const std::vector<End>& ends) {
  std::vector<std::size_t> direct;
  for (const auto& reader : ends) {
    direct.push_back(static_cast<std::size_t>(std::ranges::count_if(ends, [&](const End& other) {
      return &other != &reader && group_of(*reader.gpu, *other.gpu) != kThroughHost;
    })));
  }
  const auto [least, most] = std::ranges::minmax(direct);
  return least == most && least > 0 && most + 1 < ends.size();
}

class Pairs {
 public:
  Pairs(std::vector<End>& ends, std::uint64_t bytes, TestResult& result)
      : ends_(ends), bytes_(bytes), result_(result), in_groups_(in_groups(ends)) {
    std::vector<std::string> names;
    for (const auto& end : ends_) names.push_back(end.gpu->name());
    one_way_ = empty_matrix("GB/s that the GPU of the row reads from the GPU of the column", "GB/s",
                            names);
    both_ways_ = empty_matrix("GB/s while both read from each other, together", "GB/s", names);
  }

  void measure() {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      for (std::size_t j = 0; j < ends_.size(); ++j) {
        if (i == j) continue;
        auto done = one_way(i, j);
        if (done && i < j) done = both_ways(i, j);
        if (!done) {
          result_.findings.push_back(unjudged(pair(i, j), done.error().message));
        }
      }
    }
    result_.series = {std::move(one_series_), std::move(both_series_)};
    result_.add(std::move(hosts_series_));
    result_.add(std::move(one_way_));
    result_.add(std::move(both_ways_));
  }

 private:
  [[nodiscard]] std::string pair(std::size_t i, std::size_t j) const {
    return fmt::format("{}-{}", ends_[i].gpu->name(), ends_[j].gpu->name());
  }

  Result<void> one_way(std::size_t i, std::size_t j) {
    auto& reader = ends_[i];
    const auto& other = ends_[j];
    if (auto opened = open_way(*reader.gpu, *other.gpu); !opened) return opened;
    std::vector<double> rates;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      TRY_ASSIGN(const auto seconds,
                 reader.gpu->timed([&] { return read(reader, other, bytes_); }));
      if (repeat > 0) rates.push_back(static_cast<double>(bytes_) / seconds / kGiga);
    }
    TRY_ASSIGN(const auto wrong, wrong_words(reader, other, bytes_));
    if (wrong != 0) {
      result_.findings.push_back(
          broken(pair(i, j), fmt::format("{} words of 8 bytes came over changed", wrong)));
    }
    const bool around = in_groups_ && group_of(*reader.gpu, *other.gpu) == kThroughHost;
    add(around ? hosts_series_ : one_series_, one_way_, i, j, rates);
    return {};
  }

  Result<void> both_ways(std::size_t i, std::size_t j) {
    if (auto opened = open_way(*ends_[j].gpu, *ends_[i].gpu); !opened) return opened;
    std::vector<double> rates;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      double longest = 0;
      for (const auto& [reader, other] : {std::pair(i, j), std::pair(j, i)}) {
        const auto& from = ends_[other];
        const auto& to = ends_[reader];
        auto begun = to.gpu->begin_timed([&] { return read(to, from, bytes_); });
        if (!begun) return begun;
      }
      for (const auto reader : {i, j}) {
        TRY_ASSIGN(const auto seconds, ends_[reader].gpu->end_timed());
        longest = std::max(longest, seconds);
      }
      if (repeat > 0) rates.push_back(2 * static_cast<double>(bytes_) / longest / kGiga);
    }
    add(both_series_, both_ways_, i, j, rates);
    both_ways_.cells[j][i] = both_ways_.cells[i][j];
    return {};
  }

  void add(Series& series, Matrix& matrix, std::size_t i, std::size_t j,
           const std::vector<double>& rates) const {
    auto& value = series.add(pair(i, j), rates);
    value.group = group_of(*ends_[i].gpu, *ends_[j].gpu);
    matrix.cells[i][j] = value.value;
    series.size_bytes = static_cast<std::int64_t>(bytes_);
  }

  std::vector<End>& ends_;
  std::uint64_t bytes_;
  TestResult& result_;
  bool in_groups_;
  Matrix one_way_, both_ways_;
  Series one_series_{.what = "peer copy", .quantity = "peer_copy", .unit = "GB/s", .limited = true};
  Series both_series_{.what = "peer copy both ways",
                      .quantity = "peer_copy_both",
                      .unit = "GB/s",
                      .tolerance = 0.05};
  Series hosts_series_{.what = "peer copy through the host",
                       .quantity = "peer_copy_through_host",
                       .unit = "GB/s",
                       .tolerance = 0.1};
};

}  // namespace

Result<TestResult> run_gpu_p2p(const TestInput& input) {
  const std::uint64_t bytes =
      input.bytes != 0 ? input.bytes : (input.level == Level::quick ? 64UL : 256UL) << 20U;
  TRY_ASSIGN(auto all, open_gpus(input));
  if (all.gpus.size() + all.refused.size() < 2) return make_missing("there is one GPU only");
  TestResult result{.findings = std::move(all.refused)};
  std::vector<End> ends;
  for (auto& gpu : all.gpus) {
    if (gpu->library().copy_peer.call == nullptr) {
      return make_error("this driver has no cuMemcpyPeerAsync");
    }
    auto end = prepare(*gpu, bytes / 4096 * 4096, ends.size() + 1);
    if (end) {
      ends.push_back(*std::move(end));
    } else {
      result.findings.push_back(unjudged(gpu->name(), end.error().message));
    }
  }
  Pairs(ends, bytes / 4096 * 4096, result).measure();
  return result;
}

}  // namespace muster::bench::node
