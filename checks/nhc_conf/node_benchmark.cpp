// SPDX-License-Identifier: Apache-2.0
// The lines that `muster-bench node` answers, with Azure's units and limits.
#include <fmt/format.h>

#include <string_view>

#include "checks/nhc_conf/benchmark.hpp"
#include "checks/nhc_conf/judging.hpp"
#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

// The line's limits alone judge: `generic` has none of its own.
Benchmark node_benchmark(std::string_view tests, std::string_view code) {
  return {.words = {"node",
                    "--profile=generic",
                    fmt::format("--only={}", tests),
                    "--format=json",
                    "--verbose"},
          .environment = {},
          .topology_file = {},
          .checks = {},
          .code = std::string(code),
          .own_profile = true};
}

struct LineLimit {
  std::string_view name;  // below `bench` in a profile
  double fail_below = 0;
  double warn_below = 0;
  std::string_view unit;
};

void judge_by(Benchmark& benchmark, const LineLimit& limit) {
  const auto set = [&](std::string_view key, double value) {
    benchmark.words.push_back(
        fmt::format("--set=bench.{}.{}={:.9g} {}", limit.name, key, value, limit.unit));
  };
  set("fail_below", limit.fail_below);
  set("warn_below", limit.warn_below);
  benchmark.checks.push_back(fmt::format("bench.{}", limit.name));
}

Result<void> no_variable_is_unknown(const CheckLine& line) {
  if (line.unresolved.empty()) return {};
  return make_error(fmt::format("the variable ${} is not known", printable(line.unresolved, 40)));
}

}  // namespace

// H2D_AND_D2H [P2P], in GB/s. Azure's script warns up to 5% above the limit, and copies between
// GPUs where there are several.
Result<Benchmark> gpu_copy_benchmark(const CheckLine& line, std::size_t gpus) {
  constexpr double kWarns = 1.05;
  constexpr std::string_view kUnit = "GB/s";
  if (auto known = no_variable_is_unknown(line); !known) return tl::unexpected(known.error());
  const auto host = bandwidth_in(argument(line.arguments, 0), kUnit);
  if (!host) return tl::unexpected(host.error());
  const auto second = argument(line.arguments, 1);
  const bool peers = !second.empty() && gpus > 1;
  auto benchmark = node_benchmark(peers ? "gpu.copy,gpu.p2p" : "gpu.copy", "NHC2020");
  judge_by(benchmark, {"host_copy", *host, kWarns * *host, kUnit});
  if (second.empty()) return benchmark;
  const auto peer = bandwidth_in(second, kUnit);
  if (!peer) return tl::unexpected(peer.error());
  if (peers) judge_by(benchmark, {"peer_copy", *peer, kWarns * *peer, kUnit});
  return benchmark;
}

// [BANDWIDTH], in MB/s as STREAM prints it: copy, scale, add and triad each.
Result<Benchmark> stream_benchmark(const CheckLine& line, std::size_t /*gpus*/) {
  constexpr std::string_view kUnit = "MB/s";
  constexpr double kWithout = 580000;
  if (auto known = no_variable_is_unknown(line); !known) return tl::unexpected(known.error());
  const auto word = argument(line.arguments, 0);
  const auto limit = word.empty() ? Result<double>(kWithout) : bandwidth_in(word, kUnit);
  if (!limit) return tl::unexpected(limit.error());
  auto benchmark = node_benchmark("host.stream", "NHC2001");
  judge_by(benchmark, {"stream", *limit, *limit, kUnit});
  return benchmark;
}

// BANDWIDTH [SIZE], in Gb/s and bytes: writes of each HCA to itself from host memory.
Result<Benchmark> hca_benchmark(const CheckLine& line, std::size_t /*gpus*/) {
  constexpr std::string_view kUnit = "Gb/s";
  constexpr std::uint64_t kSize = 1UL << 20U;
  if (auto known = no_variable_is_unknown(line); !known) return tl::unexpected(known.error());
  const auto limit = bandwidth_in(argument(line.arguments, 0), kUnit);
  if (!limit) return tl::unexpected(limit.error());
  const auto word = argument(line.arguments, 1);
  const auto size = word.empty() ? Result<std::uint64_t>(kSize) : parse_unsigned(word);
  constexpr std::uint64_t kLargest = 64UL << 20U;
  if (!size || *size < sizeof(std::uint64_t) || *size > kLargest) {
    return make_error(
        fmt::format("expects a size of 8 bytes to 64 MiB, got \"{}\"", printable(word, 40)));
  }
  auto benchmark = node_benchmark("ib.loopback", "NHC2003");
  judge_by(benchmark, {"hca_write", *limit, *limit, kUnit});
  benchmark.words.push_back(fmt::format("--set=bench.hca_write.size={} B", *size));
  return benchmark;
}

// The same in messages of 8 MiB from the memory of GPUs.
Result<Benchmark> gpu_hca_benchmark(const CheckLine& line, std::size_t gpus) {
  auto asked = line;
  asked.arguments = {std::string(argument(line.arguments, 0)), "8388608"};
  auto benchmark = hca_benchmark(asked, gpus);
  if (benchmark) benchmark->words.emplace_back("--set=bench.hca_write.memory=gpu");
  return benchmark;
}

}  // namespace muster::nhc
