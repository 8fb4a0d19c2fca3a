// SPDX-License-Identifier: Apache-2.0
// The checks of muster-bench, for commands that list and explain checks. A profile's limits below
// `bench` are judged by the check of the same name.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace muster {

struct BenchCheck {
  std::string_view id;
  std::string_view title;
  std::string_view why;
  std::string_view fix;
  bool judges_run = false;  // and not the performance of nodes
};

inline constexpr std::array kBenchChecks{
    BenchCheck{"bench.data", "Every element that every rank received is correct",
               "Each result of each rank is compared with the expected result, element by "
               "element. Wrong data comes from memory, a link or a library, and spoils every "
               "computation.",
               "Take the node that the message names out of service, and run the same test on "
               "it alone.",
               true},
    BenchCheck{"bench.completion", "All ranks meet, and the run completes",
               "A rank that crashes or hangs blocks all others. The message names it, its node "
               "and its phase. Ranks that cannot meet leave the result unknown.",
               "Look at the named node. If the ranks never met, check host names, ports and the "
               "secret of the job.",
               true},
    BenchCheck{"bench.transport", "NCCL uses the transport that the profile requires",
               "NCCL falls back to sockets, at a fraction of the bandwidth, if it sees no HCA or "
               "GPUDirect RDMA does not work. Its log shows the transport.",
               "The message names what is missing: HCAs in the container, nvidia_peermem, a limit "
               "on locked memory, the topology file.",
               true},
    BenchCheck{"bench.diagnosis", "NCCL's own test of the paths between GPUs passes",
               "With --diagnose, NCCL 2.31 and later write and read over every path between two "
               "GPUs before using it, and compare the data. A failure is a fault of a GPU, a link "
               "or the driver, not of a program.",
               "The message names the pair and the path. Run `muster check --only 'gpu.*'` on "
               "their node.",
               true},
    BenchCheck{"bench.node_all_reduce", "One node's all-reduce over its GPUs reaches its bandwidth",
               "The bus bandwidth over NVLink, the median of repeated runs, is compared with the "
               "profile's limits for its size and type.",
               "Run `muster check --only 'gpu.*'` on the node, and look for a slow or missing "
               "link, or a GPU with reduced clocks."},
    BenchCheck{"bench.job_all_reduce", "The all-reduce of several nodes reaches its bandwidth",
               "The bus bandwidth of the whole job is compared with the profile's limit for its "
               "number of nodes and NCCL's algorithm. The verdict is about the job, not about a "
               "node.",
               "Look at bench.transport first. Then run `muster-bench locate` on the same nodes: "
               "it names the node, HCA, GPU, link or switch that slows down the others."},
    BenchCheck{"bench.job_all_gather", "The all-gather of several nodes reaches its bandwidth",
               "As bench.job_all_reduce, for all_gather.", "As for bench.job_all_reduce."},
    BenchCheck{"bench.job_reduce_scatter",
               "The reduce-scatter of several nodes reaches its bandwidth",
               "As bench.job_all_reduce, for reduce_scatter.", "As for bench.job_all_reduce."},
    BenchCheck{"bench.job_alltoall", "The all-to-all of several nodes reaches its bandwidth",
               "As bench.job_all_reduce, for alltoall: all nodes exchange data at once.",
               "As for bench.job_all_reduce."},
    BenchCheck{"bench.min_busbw", "The bandwidth reaches --min-busbw",
               "The bus bandwidth is compared with the number on the command line, instead of the "
               "profile's limits.",
               "As for bench.job_all_reduce."},
    BenchCheck{"bench.split", "Parts of the job reach the same bandwidth",
               "With --split, the ranks of each node, of each rail (the same GPU of every node) "
               "or consecutive ranks run in their own communicators. A part fails below "
               "--min-busbw. It is an outlier if it is more than 3% and more than five deviations "
               "below the median.",
               "A slow rail is the HCA or GPU of that number on some node: split by node, or run "
               "the rail on fewer nodes. A slow node is in the message.",
               true},
    BenchCheck{"bench.stream", "The node's memory reaches its bandwidth",
               "`muster-bench node`, test host.stream: copy, scale, add and triad on all CPUs, "
               "for the node and for each NUMA node. Every element is verified.",
               "Look for a missing or slow DIMM, or a BIOS setting (NUMA nodes per socket, memory "
               "clock). Run `muster check --only 'host.*'`; reseat or replace the DIMM."},
    BenchCheck{"bench.memory_latency", "The memory of each NUMA node has its usual latency",
               "`muster-bench node`, test host.latency: a chain of dependent loads from the CPUs "
               "of each NUMA node to the memory of each.",
               "As for bench.stream. A link between sockets may have trained slow."},
    BenchCheck{"bench.disk_read", "Local NVMe disks reach their read speed",
               "`muster-bench node`, test host.disk: sequential and random reads that bypass the "
               "page cache. The disks of a node are compared. Nothing is written.",
               "Run `nvme smart-log` on the named disk, and look for heat, wear, media errors and "
               "a narrow PCIe link."},
    BenchCheck{"bench.host_copy", "Each GPU's copies from and to the host reach their bandwidth",
               "`muster-bench node`, test gpu.copy: pinned memory near the GPU, in each direction "
               "and both at once, one GPU at a time and all together. Every byte is compared.",
               "A PCIe link trained narrow or slow: run `muster check --only pci.link`, and "
               "reseat the GPU or its riser."},
    BenchCheck{"bench.peer_copy", "Each pair of GPUs copies at its bandwidth",
               "`muster-bench node`, test gpu.p2p: every ordered pair, one way and both ways. "
               "Every byte is compared.",
               "An NVLink is down: run `muster check --only 'gpu.nvlink*'`, reset the GPU, then "
               "reseat or replace it."},
    BenchCheck{"bench.gpu_memory", "Each GPU's memory reaches its bandwidth and holds its data",
               "`muster-bench node`, test gpu.memory: triad, and patterns that move through the "
               "memory (address in address, moving inversions).",
               "For wrong bits, run `muster check --only 'gpu.ecc*'`, reset the GPU, and replace "
               "it if they return."},
    BenchCheck{"bench.gemm", "Each GPU's matrix products reach their speed",
               "`muster-bench node`, test gpu.gemm. The profile's limit is for one element type; "
               "the GPUs of a node are compared in every type.",
               "Look for the cause of reduced clocks: heat, power, or a configured limit."},
    BenchCheck{"bench.gpu_truth", "Each GPU computes correctly, every time",
               "`muster-bench node`, test gpu.truth: many products whose result is known to the "
               "last bit. A wrong bit that is in no error counter spoils a training run.",
               "Take the GPU out of service; replace it if it happens again after a reset."},
    BenchCheck{"bench.gpu_soak", "GPUs keep their speed under load for minutes",
               "`muster-bench node --level soak`: products on all GPUs at once. Throttling by "
               "heat or power may take minutes to appear.",
               "Check airflow, heat sinks and power supplies. Reseat a GPU that alone is hot."},
    BenchCheck{"bench.train_step", "Training steps compute correctly, at the requested speed",
               "`muster-bench train_step`, and test train.step of `muster-bench node`: the matrix "
               "products of a transformer's layers, with the all-reduce of their gradients at the "
               "same time. Products are compared with earlier ones and with the host's. A GPU "
               "that takes 10% longer than the others warns.",
               "Look at bench.gemm and bench.node_all_reduce. If both are fine alone, the cause "
               "is shared: power, memory bandwidth, CPUs of the host."},
    BenchCheck{"bench.hca_write", "Each HCA writes by RDMA at its bandwidth",
               "`muster-bench node`, test ib.loopback: RDMA writes and reads of each HCA to "
               "itself from host memory, alone and with all others at once, and to the other "
               "HCAs. Every byte is compared.",
               "Run `muster check --only 'ib.*,pci.*'`, and look for a port or PCIe link that "
               "trained slow, relaxed ordering, or an IOMMU."},
    BenchCheck{"bench.loopback_all_reduce",
               "One node's all-reduce through its HCAs reaches its bandwidth",
               "`muster-bench node`, test nccl.nic: NCCL without NVLink and shared memory, so "
               "that the HCAs carry all data.",
               "Run `muster check --only 'ib.*'`, and look for a bad port or cable, or a narrow "
               "PCIe link."},
    BenchCheck{"bench.in_use", "The GPUs are idle while they are measured",
               "Another program lowers the numbers, and the tests would disturb it. The finding "
               "names the process.",
               "Run on an idle node, or with --even-if-busy.", true},
    BenchCheck{"bench.locate", "No node, device, link or leaf switch is slower than its peers",
               "`muster-bench locate` measures pairs of nodes at the same time, then suspects "
               "with proven partners, then suspects while all others are idle. The message names "
               "what is slow and what was ruled out.",
               "Exclude the accused nodes (--exclude writes their list), and run `muster check` "
               "and `muster-bench node` on them."},
};

// The checks of a collective's bandwidth. Every completed run has one of them.
inline constexpr std::array<std::string_view, 6> kBandwidthChecks{
    "bench.node_all_reduce",    "bench.job_all_reduce", "bench.job_all_gather",
    "bench.job_reduce_scatter", "bench.job_alltoall",   "bench.min_busbw"};

// Returns null for an unknown id.
[[nodiscard]] constexpr const BenchCheck* find_bench_check(std::string_view id) {
  const auto* found = std::ranges::find(kBenchChecks, id, &BenchCheck::id);
  return found == kBenchChecks.end() ? nullptr : found;
}

}  // namespace muster
