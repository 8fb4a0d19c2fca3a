// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/node/test.hpp"
#include "lib/base/text.hpp"
#include "lib/command/options.hpp"

namespace muster::bench::node {
namespace {

constexpr std::array kTests{
    NodeTest{"host.stream",
             "copy, scale, add, triad on all CPUs; per NUMA node and whole",
             "bench.stream",
             run_host_stream,
             bounds_of<&BenchLimits::stream>,
             {.quick_s = 4, .full_s = 15}},
    NodeTest{"host.latency",
             "memory latency from each NUMA node to each; between CPUs",
             "bench.memory_latency",
             run_host_latency,
             nullptr,
             {.quick_s = 2, .full_s = 15}},
    NodeTest{"host.disk",
             "sequential and random reads of local NVMe disks, past the page cache",
             "bench.disk_read",
             run_host_disk,
             nullptr,
             {.quick_s = 4, .full_s = 15}},
    NodeTest{"gpu.copy",
             "copies between each GPU and host memory, each way, both, all GPUs",
             "bench.host_copy",
             run_gpu_copy,
             bounds_of<&BenchLimits::host_copy>,
             {.quick_s = 6, .full_s = 30},
             {.gpus = 1}},
    NodeTest{"gpu.p2p",
             "copies between every ordered pair of GPUs, one way and both",
             "bench.peer_copy",
             run_gpu_p2p,
             bounds_of<&BenchLimits::peer_copy>,
             {.quick_s = 4, .full_s = 20},
             {.gpus = 2}},
    NodeTest{"gpu.memory",
             "bandwidth of each GPU's memory, and patterns moved through it",
             "bench.gpu_memory",
             run_gpu_memory,
             bounds_of<&BenchLimits::gpu_memory>,
             {.quick_s = 4, .full_s = 50},
             {.gpus = 1}},
    NodeTest{"gpu.gemm",
             "speed of matrix products on each GPU",
             "bench.gemm",
             run_gpu_gemm,
             bounds_of<&BenchLimits::gemm>,
             {.quick_s = 4, .full_s = 30},
             {.gpus = 1}},
    NodeTest{"gpu.truth",
             "products with known answers, to the last bit, many times",
             "bench.gpu_truth",
             run_gpu_truth,
             nullptr,
             {.quick_s = 4, .full_s = 30},
             {.gpus = 1}},
    NodeTest{"ib.loopback",
             "RDMA of each HCA to itself and to the others, alone and at once",
             "bench.hca_write",
             run_ib_loopback,
             bounds_of<&BenchLimits::hca_write>,
             {.quick_s = 4, .full_s = 20},
             {.hcas = true}},
    NodeTest{"nccl.intra",
             "all-reduce over this node's GPUs by NCCL",
             "bench.node_all_reduce",
             run_nccl_intra,
             bounds_of<&BenchLimits::node_all_reduce>,
             {Level::full, 15, 30},
             {.gpus = 2}},
    NodeTest{"nccl.nic",
             "the same through the HCAs, without NVLink and shared memory",
             "bench.loopback_all_reduce",
             run_nccl_nic,
             bounds_of<&BenchLimits::loopback_all_reduce>,
             {Level::full, 15, 30},
             {.gpus = 1}},
    NodeTest{"train.step",
             "a training step's products with the all-reduce of gradients",
             "bench.train_step",
             run_train_step,
             nullptr,
             {Level::full, 15, 15},
             {.gpus = 2}},
    NodeTest{"gpu.soak",
             "products on all GPUs for minutes: heat, power, wrong bits",
             "bench.gpu_soak",
             run_gpu_soak,
             nullptr,
             {Level::soak, 60, 1200},
             {.gpus = 1}},
};

}  // namespace

std::span<const NodeTest> node_tests() { return kTests; }

Result<std::vector<std::string>> tests_called(std::string_view globs) {
  std::vector<std::string> found;
  for (const auto word : split(globs, ',')) {
    const auto glob = trim(word);
    const bool known = std::ranges::any_of(
        kTests, [&](const NodeTest& test) { return matches_glob(glob, test.name); });
    if (!known) {
      std::vector<std::string> names;
      for (const auto& test : kTests) names.emplace_back(test.name);
      return make_error(fmt::format("unknown test \"{}\"{}; there are {}", printable(glob, 80),
                                    suggestion(glob, names), fmt::join(names, ", ")));
    }
    found.emplace_back(glob);
  }
  return found;
}

}  // namespace muster::bench::node
