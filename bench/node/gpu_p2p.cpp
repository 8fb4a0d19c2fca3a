// SPDX-License-Identifier: Apache-2.0
// gpu.p2p: copies between every ordered pair of GPUs, one way and both ways at once.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "bench/node/gpus.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

constexpr int kRepeats = 5;  // the first is a warm-up
constexpr std::uint64_t kWord = 8;
constexpr std::string_view kThroughHost = "through the host";

struct PeerBuffers {
  NodeGpu* gpu = nullptr;
  cuda::Pointer from = 0, to = 0;  // other GPUs read `from`; this one reads into `to`
  std::vector<std::uint64_t> data;
};

// Enqueues a read of the other GPU's data on the reader's stream.
Result<void> enqueue_read(const PeerBuffers& reader, const PeerBuffers& other,
                          std::uint64_t bytes) {
  auto& gpu = reader.gpu->gpu();
  TRY(gpu.use());
  return call(reader.gpu->library(), reader.gpu->library().copy_peer, reader.to, gpu.context(),
              other.from, other.gpu->gpu().context(), bytes, gpu.stream());
}

// The kind of connection, by the driver's rank if it has one. Only pairs of the same kind are
// compared.
std::string connection_of(const NodeGpu& reader, const NodeGpu& other) {
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

Result<void> enable_access(const NodeGpu& reader, const NodeGpu& other) {
  constexpr int kAlready = 704;
  const auto& library = reader.library();
  if (library.enable_peer.call == nullptr || connection_of(reader, other) == kThroughHost) {
    return {};
  }
  TRY(reader.gpu().use());
  const int code = library.enable_peer.call(other.gpu().context(), 0);
  if (code == cuda::kSuccess || code == kAlready) return {};
  return tl::unexpected(trouble(library, library.enable_peer.name, code));
}

Result<PeerBuffers> prepare(NodeGpu& gpu, std::uint64_t bytes, std::uint64_t seed) {
  PeerBuffers buffers{.gpu = &gpu, .data = varied_words(seed)};
  TRY(gpu.allocate({&buffers.from, &buffers.to}, bytes));
  TRY(gpu.fill(buffers.from, bytes / kWord, kWord, buffers.data));
  return buffers;
}

// Whether the GPUs are connected in groups by design, such as pairs with a bridge: each reaches the
// same number of others directly, but not all of them. Unequal numbers, or no direct connection at
// all, are a fault.
bool in_groups(const std::vector<PeerBuffers>& all) {
  std::vector<std::ptrdiff_t> direct;
  for (const auto& reader : all) {
    direct.push_back(std::ranges::count_if(all, [&](const PeerBuffers& other) {
      return &other != &reader && connection_of(*reader.gpu, *other.gpu) != kThroughHost;
    }));
  }
  const auto [least, most] = std::ranges::minmax(direct);
  return least == most && least > 0 && most + 1 < std::ssize(all);
}

class PairTest {
 public:
  PairTest(std::vector<PeerBuffers>& all, std::uint64_t bytes, TestResult& result)
      : all_(all), bytes_(bytes), result_(result), in_groups_(in_groups(all)) {
    std::vector<std::string> names;
    for (const auto& each : all_) names.push_back(each.gpu->name());
    one_way_ = empty_matrix("GB/s that the GPU of the row reads from the GPU of the column", "GB/s",
                            names);
    both_ways_ = empty_matrix("GB/s while both read from each other, together", "GB/s", names);
  }

  void measure() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (std::size_t j = 0; j < all_.size(); ++j) {
        if (i == j) continue;
        auto done = measure_one_way(i, j);
        if (done && i < j) done = measure_both_ways(i, j);
        if (!done) result_.findings.push_back(unjudged(pair(i, j), done.error().message));
      }
    }
    result_.series = {std::move(one_series_), std::move(both_series_)};
    result_.add(std::move(host_series_));
    result_.add(std::move(one_way_));
    result_.add(std::move(both_ways_));
  }

 private:
  [[nodiscard]] std::string pair(std::size_t i, std::size_t j) const {
    return fmt::format("{}-{}", all_[i].gpu->name(), all_[j].gpu->name());
  }

  [[nodiscard]] Result<void> measure_one_way(std::size_t i, std::size_t j) {
    auto& reader = all_[i];
    const auto& other = all_[j];
    TRY(enable_access(*reader.gpu, *other.gpu));
    std::vector<double> rates;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      TRY(reader.gpu->poison(reader.to, bytes_));  // waits, so that it is not timed
      TRY_ASSIGN(const auto seconds,
                 reader.gpu->timed([&] { return enqueue_read(reader, other, bytes_); }));
      TRY(verify(i, j));
      if (repeat > 0) rates.push_back(static_cast<double>(bytes_) / seconds / kGiga);
    }
    const bool by_design = in_groups_ && connection_of(*reader.gpu, *other.gpu) == kThroughHost;
    add_rates(by_design ? host_series_ : one_series_, one_way_, i, j, rates);
    return {};
  }

  [[nodiscard]] Result<void> measure_both_ways(std::size_t i, std::size_t j) {
    TRY(enable_access(*all_[j].gpu, *all_[i].gpu));
    std::vector<double> rates;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      for (const auto reader : {i, j}) TRY(all_[reader].gpu->poison(all_[reader].to, bytes_));
      for (const auto& [reader, other] : {std::pair(i, j), std::pair(j, i)}) {
        const auto& from = all_[other];
        const auto& to = all_[reader];
        TRY(to.gpu->begin_timed([&] { return enqueue_read(to, from, bytes_); }));
      }
      TRY_ASSIGN(const auto first, all_[i].gpu->end_timed());
      TRY_ASSIGN(const auto second, all_[j].gpu->end_timed());
      TRY(verify(i, j));
      TRY(verify(j, i));
      if (repeat == 0) continue;
      rates.push_back(2 * static_cast<double>(bytes_) / std::max(first, second) / kGiga);
    }
    add_rates(both_series_, both_ways_, i, j, rates);
    both_ways_.cells[j][i] = both_ways_.cells[i][j];
    return {};
  }

  // Verifies what GPU i read from GPU j. Reports only the first wrong copy of a pair.
  [[nodiscard]] Result<void> verify(std::size_t i, std::size_t j) {
    TRY_ASSIGN(const auto wrong,
               all_[i].gpu->verify(all_[i].to, bytes_ / kWord, kWord, all_[j].data));
    if (wrong.elements == 0 || !corrupted_.emplace(i, j).second) return {};
    result_.findings.push_back(
        broken(pair(i, j), fmt::format("{} 8-byte words were corrupted", wrong.elements)));
    return {};
  }

  void add_rates(Series& series, Matrix& matrix, std::size_t i, std::size_t j,
                 const std::vector<double>& rates) const {
    auto& value = series.add(pair(i, j), rates);
    value.group = connection_of(*all_[i].gpu, *all_[j].gpu);
    matrix.cells[i][j] = value.value;
    series.size_bytes = static_cast<std::int64_t>(bytes_);
  }

  std::vector<PeerBuffers>& all_;
  std::uint64_t bytes_;
  TestResult& result_;
  bool in_groups_;
  std::set<std::pair<std::size_t, std::size_t>> corrupted_;  // already reported
  Matrix one_way_, both_ways_;
  Series one_series_{.what = "peer copy", .quantity = "peer_copy", .unit = "GB/s", .limited = true};
  Series both_series_{.what = "peer copy both ways",
                      .quantity = "peer_copy_both",
                      .unit = "GB/s",
                      .tolerance = 0.05};
  Series host_series_{.what = "peer copy through the host",
                      .quantity = "peer_copy_through_host",
                      .unit = "GB/s",
                      .tolerance = 0.1};
};

}  // namespace

Result<TestResult> run_gpu_p2p(const TestInput& input) {
  TRY_ASSIGN(auto gpus, open_gpus(input));
  if (gpus.gpus.size() + gpus.refused.size() < 2) return make_missing("the node has only one GPU");
  TestResult result{.findings = std::move(gpus.refused)};
  if (!gpus.gpus.empty() && gpus.gpus.front()->library().copy_peer.call == nullptr) {
    return make_error("the driver lacks cuMemcpyPeerAsync");
  }
  std::vector<PeerBuffers> all;
  gpus.on_each(result, [&](NodeGpu& gpu) -> Result<void> {
    TRY_ASSIGN(auto buffers, prepare(gpu, copied_bytes(input), all.size() + 1));
    all.push_back(std::move(buffers));
    return {};
  });
  PairTest(all, copied_bytes(input), result).measure();
  input.require_size_for(result, kQuickCopy);
  return result;
}

}  // namespace muster::bench::node
