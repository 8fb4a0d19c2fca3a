// SPDX-License-Identifier: Apache-2.0
#include "bench/node/tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text.hpp"
#include "lib/command/options.hpp"

namespace muster::bench::node {
namespace {

constexpr std::array kTests{
    NodeTest{.name = "host.stream",
             .about = "copy, scale, add, triad over all CPUs; per NUMA node and whole",
             .check = "bench.stream",
             .quick_s = 4,
             .full_s = 15,
             .bounds = bounds_of<&BenchLimits::stream>,
             .run = run_host_stream},
    NodeTest{.name = "host.latency",
             .about = "memory latency from each NUMA node to each; between CPUs",
             .check = "bench.memory_latency",
             .quick_s = 2,
             .full_s = 15,
             .run = run_host_latency},
    NodeTest{.name = "host.disk",
             .about = "sequential and random reads of local NVMe disks, past the page cache",
             .check = "bench.disk_read",
             .quick_s = 4,
             .full_s = 15,
             .run = run_host_disk},
    NodeTest{.name = "gpu.copy",
             .about = "copies between each GPU and host memory, each way, both, all GPUs",
             .check = "bench.host_copy",
             .gpus = true,
             .quick_s = 6,
             .full_s = 30,
             .bounds = bounds_of<&BenchLimits::host_copy>,
             .run = run_gpu_copy},
    NodeTest{.name = "gpu.p2p",
             .about = "copies between every ordered pair of GPUs, one way and both",
             .check = "bench.peer_copy",
             .gpus = true,
             .least_gpus = 2,
             .quick_s = 4,
             .full_s = 20,
             .bounds = bounds_of<&BenchLimits::peer_copy>,
             .run = run_gpu_p2p},
    NodeTest{.name = "gpu.memory",
             .about = "bandwidth of each GPU's memory, and patterns moved through it",
             .check = "bench.gpu_memory",
             .gpus = true,
             .quick_s = 4,
             .full_s = 50,
             .bounds = bounds_of<&BenchLimits::gpu_memory>,
             .run = run_gpu_memory},
    NodeTest{.name = "gpu.gemm",
             .about = "speed of matrix products on each GPU",
             .check = "bench.gemm",
             .gpus = true,
             .quick_s = 4,
             .full_s = 30,
             .bounds = bounds_of<&BenchLimits::gemm>,
             .run = run_gpu_gemm},
    NodeTest{.name = "gpu.truth",
             .about = "products with known answers, to the last bit, many times",
             .check = "bench.gpu_truth",
             .gpus = true,
             .quick_s = 4,
             .full_s = 30,
             .run = run_gpu_truth},
    NodeTest{.name = "ib.loopback",
             .about = "RDMA of each HCA to itself and to the others, alone and at once",
             .check = "bench.hca_write",
             .hcas = true,
             .quick_s = 4,
             .full_s = 20,
             .bounds = bounds_of<&BenchLimits::hca_write>,
             .run = run_ib_loopback},
    NodeTest{.name = "nccl.intra",
             .about = "all-reduce over this node's GPUs by NCCL",
             .check = "bench.node_all_reduce",
             .from = Level::full,
             .gpus = true,
             .least_gpus = 2,
             .quick_s = 15,
             .full_s = 30,
             .bounds = bounds_of<&BenchLimits::node_all_reduce>,
             .run = run_nccl_intra},
    NodeTest{.name = "nccl.nic",
             .about = "the same through the HCAs, without NVLink and shared memory",
             .check = "bench.loopback_all_reduce",
             .from = Level::full,
             .gpus = true,
             .quick_s = 15,
             .full_s = 30,
             .bounds = bounds_of<&BenchLimits::loopback_all_reduce>,
             .run = run_nccl_nic},
    NodeTest{.name = "train.step",
             .about = "a training step's products, and beside them the all-reduce of gradients",
             .check = "bench.train_step",
             .from = Level::full,
             .gpus = true,
             .least_gpus = 2,
             .quick_s = 15,
             .full_s = 15,
             .run = run_train_step},
    NodeTest{.name = "gpu.soak",
             .about = "products on all GPUs for minutes: heat, power, wrong bits",
             .check = "bench.gpu_soak",
             .from = Level::soak,
             .gpus = true,
             .quick_s = 60,
             .full_s = 1200,
             .run = run_gpu_soak},
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
      return make_error(fmt::format("no test is called \"{}\"{}; there are {}", printable(glob, 80),
                                    suggestion(glob, names), fmt::join(names, ", ")));
    }
    found.emplace_back(glob);
  }
  return found;
}

}  // namespace muster::bench::node
