// SPDX-License-Identifier: Apache-2.0
// The checks that muster-bench judges by, for those who list and explain checks. A block of limits
// below `bench` in a profile is judged where a check here has its name.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace muster {

struct BenchCheck {
  enum class Judges {
    nodes,  // what they reach, alone or together
    run,    // how it went: nothing that it holds for tells a good node
  };

  std::string_view id;
  std::string_view title;
  std::string_view why;
  std::string_view fix;
  Judges judges = Judges::nodes;
};

inline constexpr std::array kBenchChecks{
    BenchCheck{"bench.data", "Every element that every rank received is right",
               "Each result of each rank is compared with what it must be, element by element. "
               "Wrong data come from memory, a link or a library, and ruin whatever is computed.",
               "The message names rank, GPU and node. Take that node out of service and run the "
               "same on it alone.",
               BenchCheck::Judges::run},
    BenchCheck{"bench.completion", "All ranks meet, and the run comes to its end",
               "A rank that crashed or hung holds all others. The message says which, on which "
               "node, and what it was doing; ranks that could not meet leave it unknown.",
               "Look at the node that is named. Where ranks never met, look at host names, ports "
               "and the secret of the job.",
               BenchCheck::Judges::run},
    BenchCheck{"bench.transport", "NCCL uses the transport that the profile requires",
               "NCCL falls back to sockets, and runs at a small part of the bandwidth, where it "
               "sees no HCA or GPUDirect RDMA does not work. Its own log tells.",
               "The message says what is missing: HCAs in the container, nvidia_peermem, a limit "
               "on locked memory, the topology file.",
               BenchCheck::Judges::run},
    BenchCheck{"bench.diagnosis", "NCCL's own test of the paths between GPUs finds nothing",
               "With --diagnose, NCCL 2.31 and later read and write over every path between two "
               "GPUs before it is used, and compare what arrives. What fails there is a GPU, a "
               "link or the driver, and no program.",
               "The message names the pair and the path. Run `muster check --only 'gpu.*'` on "
               "their node.",
               BenchCheck::Judges::run},
    BenchCheck{"bench.node_all_reduce", "One node's all-reduce over its GPUs reaches its bandwidth",
               "The bus bandwidth over NVLink, the median of repeated runs, against the limits of "
               "the profile for its size and type.",
               "Run `muster check --only 'gpu.*'` on the node: a link that is down or slow, a GPU "
               "that is held back."},
    BenchCheck{"bench.job_all_reduce", "The all-reduce of several nodes reaches its bandwidth",
               "The bus bandwidth of the whole job against the limit of the profile for its number "
               "of nodes and NCCL's algorithm. The verdict is the job's: it accuses no node.",
               "Look at bench.transport first. Then run `muster-bench locate` among the same "
               "nodes: it names the node, HCA, GPU, link or switch that holds all others back."},
    BenchCheck{"bench.job_all_gather", "The all-gather of several nodes reaches its bandwidth",
               "As bench.job_all_reduce, for all_gather.", "As for bench.job_all_reduce."},
    BenchCheck{"bench.job_reduce_scatter",
               "The reduce-scatter of several nodes reaches its bandwidth",
               "As bench.job_all_reduce, for reduce_scatter.", "As for bench.job_all_reduce."},
    BenchCheck{"bench.job_alltoall", "The all-to-all of several nodes reaches its bandwidth",
               "As bench.job_all_reduce, for alltoall: what crosses between all nodes at once.",
               "As for bench.job_all_reduce."},
    BenchCheck{"bench.min_busbw", "The bandwidth is at least what --min-busbw asks for",
               "The bus bandwidth against the number on the command line, in place of the "
               "profile's limits.",
               "As for bench.job_all_reduce."},
    BenchCheck{"bench.split", "Parts of the job reach the same bandwidth",
               "With --split the ranks of each node, of each rail (the same GPU of every node) or "
               "so many in a row run in communicators of their own. Far below the others, by more "
               "than 3% and by five times what they differ by, is an outlier; below --min-busbw "
               "is too little.",
               "A slow rail is the HCA or GPU of that number on some node: split by node, or run "
               "the rail on fewer nodes. A slow node is in the message.",
               BenchCheck::Judges::run},
    BenchCheck{"bench.stream", "The node's memory reaches its bandwidth",
               "`muster-bench node`, test host.stream: copy, scale, add and triad over all CPUs, "
               "each element verified; per NUMA node and as a whole.",
               "A DIMM that is missing or slow, a BIOS setting (NUMA nodes per socket, memory "
               "clock). Run `muster check --only 'host.*'`; reseat or replace the DIMM."},
    BenchCheck{"bench.memory_latency", "Memory answers each NUMA node in its time",
               "`muster-bench node`, test host.latency: a chain of dependent loads from the CPUs "
               "of each NUMA node to the memory of each.",
               "As for bench.stream; a link between sockets that trained slow."},
    BenchCheck{"bench.disk_read", "Local NVMe disks read at their speed",
               "`muster-bench node`, test host.disk: sequential and random reads past the page "
               "cache, and nothing is written. Disks of one node are compared.",
               "Run `nvme smart-log` on the disk that is named: heat, wear, media errors, a "
               "narrow PCIe link."},
    BenchCheck{"bench.host_copy", "Each GPU's copies from and to the host reach their bandwidth",
               "`muster-bench node`, test gpu.copy: pinned memory near the GPU, each way and both "
               "at once, one GPU at a time and all together. Every byte is compared.",
               "A PCIe link that trained narrow or slow: `muster check --only pci.link`; "
               "reseat the GPU or its riser."},
    BenchCheck{"bench.peer_copy", "Each pair of GPUs copies at its bandwidth",
               "`muster-bench node`, test gpu.p2p: every ordered pair, one way and both. Every "
               "byte is compared.",
               "An NVLink that is down: `muster check --only 'gpu.nvlink*'`; reset the GPU, then "
               "reseat or replace it."},
    BenchCheck{"bench.gpu_memory",
               "Each GPU's memory holds what is written and reaches its bandwidth",
               "`muster-bench node`, test gpu.memory: triad, and patterns that move through the "
               "memory (address in address, moving inversions).",
               "Wrong bits: run `muster check --only 'gpu.ecc*'`, reset the GPU, replace it if "
               "they come back."},
    BenchCheck{"bench.gemm", "Each GPU's matrix products reach their speed",
               "`muster-bench node`, test gpu.gemm. The profile's limit holds for its element "
               "type; GPUs of one node are compared whatever the type.",
               "Look at what holds the clocks down: heat, power, a limit that somebody set."},
    BenchCheck{"bench.gpu_truth", "Each GPU computes what is right, every time",
               "`muster-bench node`, test gpu.truth: products whose answer is known to the last "
               "bit, many times. A wrong bit that no counter shows spoils a training run.",
               "Take the GPU out of service; replace it if it happens again after a reset."},
    BenchCheck{"bench.gpu_soak", "GPUs keep their speed under load for minutes",
               "`muster-bench node --level soak`: products and memory at once. What heat or power "
               "holds back after a minute is not seen in seconds.",
               "Airflow, heat sinks, power supplies; a GPU that alone is hot wants reseating."},
    BenchCheck{"bench.train_step",
               "Training steps compute what is right, at the speed that is asked for",
               "`muster-bench train_step`, and test train.step of `muster-bench node`: the matrix "
               "products of a transformer's layers, and beside them the all-reduce of their "
               "gradients. Products are compared with what they were before and with the host's; "
               "a GPU that takes 10% longer than the others is warned of.",
               "Look at bench.gemm and bench.node_all_reduce, each alone. Where both are fine, "
               "what they share is not: power, memory bandwidth, processors of the host."},
    BenchCheck{"bench.hca_write", "Each HCA writes by RDMA at its bandwidth",
               "`muster-bench node`, test ib.loopback: RDMA writes and reads of each HCA to itself "
               "from host memory, alone and with all others at once, and to the other HCAs. Every "
               "byte is compared.",
               "Run `muster check --only 'ib.*,pci.*'`: a port or a PCIe link that trained slow, "
               "relaxed ordering, an IOMMU."},
    BenchCheck{
        "bench.loopback_all_reduce", "One node's all-reduce through its HCAs reaches its bandwidth",
        "`muster-bench node`, test nccl.nic: NCCL without NVLink and shared memory, so "
        "that the HCAs carry everything.",
        "Run `muster check --only 'ib.*'`: a port, a cable, a PCIe link that trained narrow."},
    BenchCheck{"bench.in_use", "Nobody else works on the GPUs while they are measured",
               "What another program takes makes numbers low, and the tests would disturb it. "
               "The finding names the process.",
               "Run it on an idle node, or with --even-if-busy.", BenchCheck::Judges::run},
    BenchCheck{"bench.locate", "No node, device, link or leaf switch is slower than its equals",
               "`muster-bench locate`: pairs of nodes side by side, suspects again with partners "
               "that have proven good, then while nobody else works. The message names what is "
               "slow and what was ruled out.",
               "Leave the accused nodes out (--exclude writes their list), and run "
               "`muster check` and `muster-bench node` on them."},
};

// Those of a collective's bandwidth; one of them is in the report of every whole run.
inline constexpr std::array<std::string_view, 6> kBandwidthChecks{
    "bench.node_all_reduce",    "bench.job_all_reduce", "bench.job_all_gather",
    "bench.job_reduce_scatter", "bench.job_alltoall",   "bench.min_busbw"};

// Null where there is none with this id.
[[nodiscard]] constexpr const BenchCheck* find_bench_check(std::string_view id) {
  const auto* found = std::ranges::find(kBenchChecks, id, &BenchCheck::id);
  return found == kBenchChecks.end() ? nullptr : found;
}

}  // namespace muster
